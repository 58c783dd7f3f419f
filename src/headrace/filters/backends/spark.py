"""A filter as a column over the event table, for Spark.

Two-valued, never null. Attributes are compared as plain columns, so that Parquet sees the comparison; data is read as
VARIANT. What Spark can't say exactly (its regular expressions aren't RE2, for instance) is evaluated in Python by the
Arrow back end, and so are documents that VARIANT reads otherwise than the filter's own reader.

Not native, so in Python: `matches` and `match`, terms, membership in lists (`x in data.a`), `eventTime`, paths below an
extension, `ce` as a whole, keys with quotes or brackets, `publishTime` against anything but an int, NaN and uints
beyond int, and of the canonical string its order and short questions that the text of a double could answer.
"""

from __future__ import annotations

import math
import re
import secrets
from dataclasses import dataclass
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BooleanType

from headrace.events.batch import SCHEMA
from headrace.events.event import DataKind
from headrace.filters.backends.arrow import evaluate, is_columnar, normal_form, path_of
from headrace.filters.backends.arrow_table import OFFICIAL
from headrace.filters.ir.atoms import Comparison, Contains, EndsWith, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Not, Or, nodes_of
from headrace.filters.ir.operands import Path, Text
from headrace.filters.values.budget import LONGEST_SCANNED
from headrace.filters.values.kinds import INT64
from headrace.filters.values.texts import write_double

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Scalar

__all__ = ["Column", "column"]

_STRING_COLUMNS: dict[tuple[str, ...], str] = {
    **{("ce", name): name for name in OFFICIAL},
    ("tenant",): "namespace",
    ("collection",): "channel",
}
_COMPARE: dict[Operator, Callable[[Any, Any], Column]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.LESS_OR_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_OR_EQUAL: ge,
}
_EQUALITIES = (Operator.EQUAL, Operator.NOT_EQUAL)
_PLAIN_JSON = r"^[a-z0-9.+-]+/([a-z0-9.+-]+\+)?json *(;.*)?$"
_KEY = re.compile(r"[^'\"\\\[\]]+")
_IN_DOUBLES = frozenset("0123456789+-.einfa")
_DEEPEST = 100
_FARTHEST = 10**15
_TRUE, _FALSE = True, False


class _Inexact(Exception):
    """Spark can't say this clause exactly."""


def column(expression: Expression) -> Column:
    """Return the column that is true exactly where the filter matches, and false everywhere else."""
    return _column(normal_form(expression))


def _column(expression: Expression) -> Column:
    match expression:
        case Constant(value):
            return F.lit(value)
        case And(parts):
            return _connected(And, and_, parts)
        case Or(parts):
            return _connected(Or, or_, parts)
        case _:
            return _connected(And, and_, (expression,))


def _connected(
    connective: type[And | Or],
    connect: Callable[[Column, Column], Column],
    parts: tuple[Expression, ...],
) -> Column:
    """Keep plain parts apart, since Spark reorders and pushes down those; ask Python once for all the others."""
    columns: list[Column] = []
    of_data: list[Expression] = []
    rest: list[Expression] = []
    for part in parts:
        if isinstance(part, And | Or | Constant):
            columns.append(_column(part))
            continue
        try:
            native = _native(part, _Document(F.col("data")))
        except _Inexact:
            rest.append(part)
            continue
        if path_of(part).steps[0] == "data":
            of_data.append(part)
        else:
            columns.append(native)
    if of_data:
        columns.append(_of_data(_joined(connective, of_data), connect, of_data))
    if rest:
        columns.append(_in_python(_joined(connective, rest)))
    return reduce(connect, columns)


def _joined(connective: type[And | Or], parts: list[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else connective(tuple(parts))


def _native(clause: Expression, document: _Document) -> Column:
    """Return the column of a clause, never null."""
    if not is_columnar(clause):
        raise _Inexact
    path = path_of(clause).steps
    if path in _STRING_COLUMNS:
        return _of_string_column(clause, F.col(_STRING_COLUMNS[path]))
    if path == ("publishTime",):
        return _of_publish_time(clause)
    atom, negated = (clause.part, True) if isinstance(clause, Not) else (clause, False)
    if path[0] == "data" and not isinstance(atom, Has):
        return _let(
            document.at(path[1:]), lambda variant: _two_valued(_truth(atom, _value_of(variant)), negated)
        )
    if path[0] == "data":
        return _two_valued(document.has(path[1:]), negated)
    value = _extension(path)
    return _two_valued(value.present if isinstance(atom, Has) else _truth(atom, value), negated)


def _two_valued(truth: Column, negated: bool) -> Column:
    return F.coalesce(~truth if negated else truth, F.lit(_FALSE))


def _of_string_column(clause: Expression, strings: Column) -> Column:
    """Say it so that it is false, not null, where the column is, and still a comparison of a column."""
    match clause:
        case Has():
            return strings.isNotNull()
        case Not(Has()):
            return strings.isNull()
        case Contains() | Not(Contains()):
            return _contains(clause, strings)
        case Not(part):
            truth = _of_string(part, strings)
            return F.lit(_FALSE) if truth is None else strings.isNotNull() & ~truth
        case _:
            truth = _of_string(clause, strings)
            return F.lit(_FALSE) if truth is None else strings.isNotNull() & truth


def _contains(clause: Expression, strings: Column) -> Column:
    """Of long texts it is unknown: neither this nor its negation is true."""
    atom, negated = (clause.part, True) if isinstance(clause, Not) else (clause, False)
    truth = _of_string(atom, strings)
    return F.lit(_FALSE) if truth is None else _two_valued(truth, negated)


def _of_string(atom: Expression, strings: Column) -> Column | None:  # noqa: PLR0911 -- one per node
    """Return what an atom says of strings; nothing where it is unknown of all of them."""
    match atom:
        case Comparison(_, operator, literal) if isinstance(literal.value, str):
            return _COMPARE[operator](strings, _text(literal.value))
        case Comparison(_, operator, _) if operator in _EQUALITIES:
            return F.lit(operator is Operator.NOT_EQUAL)
        case OneOf(_, literals):
            texts = [_text(each.value) for each in literals if isinstance(each.value, str)]
            return strings.isin(texts) if texts else F.lit(_FALSE)
        case StartsWith(_, prefix):
            return strings.startswith(_text(prefix))
        case EndsWith(_, suffix):
            return strings.endswith(_text(suffix))
        case Contains(_, text):
            return F.when(F.length(strings) <= LONGEST_SCANNED, strings.contains(_text(text)))
        case Comparison() | Path():
            return None
        case _:
            raise _Inexact


def _text(value: str) -> Column:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Inexact from None
    return F.lit(value)


def _of_publish_time(clause: Expression) -> Column:
    """Compare the moments themselves: `publishTime` is cut to milliseconds."""
    match clause:
        case Comparison(Path(), operator, literal) if (
            type(literal.value) is int and abs(literal.value) < _FARTHEST
        ):
            first, after = (_moment(literal.value), _moment(literal.value + 1))
        case _:
            raise _Inexact
    time = F.col("publish_time")
    columns = {
        Operator.EQUAL: (time >= first) & (time < after),
        Operator.NOT_EQUAL: (time < first) | (time >= after),
        Operator.LESS: time < first,
        Operator.LESS_OR_EQUAL: time < after,
        Operator.GREATER: time >= after,
        Operator.GREATER_OR_EQUAL: time >= first,
    }
    return time.isNotNull() & columns[operator]


def _moment(milliseconds: int) -> Column:
    return F.timestamp_micros(F.lit(milliseconds * 1000).cast("bigint"))


@dataclass(frozen=True, slots=True)
class _Value:
    """What stands at a path: a string, or a variant of any type; null where it is something else."""

    present: Column
    string: Column
    variant: Column

    def is_a(self, *types: str) -> Column:
        return F.schema_of_variant(self.variant).isin(*types)

    @property
    def is_double(self) -> Column:
        named = F.schema_of_variant(self.variant)
        return (named == "DOUBLE") | named.startswith("DECIMAL")

    def as_(self, type_: str) -> Column:
        return F.try_variant_get(self.variant, "$", type_)


def _truth(atom: Expression, value: _Value) -> Column:
    """Return the three-valued column of an atom about an extension or the data."""
    if isinstance(getattr(atom, "operand", None), Text):
        return _of_text(atom, value)
    match atom:
        case Path():
            return F.when(value.is_a("BOOLEAN"), value.as_("boolean"))
        case Comparison(_, operator, literal) if operator in _EQUALITIES:
            equal = _equal(value, literal.value)
            return ~equal if operator is Operator.NOT_EQUAL else equal
        case Comparison(_, operator, literal):
            return _ordered(value, operator, literal.value)
        case OneOf(_, literals):
            equals = (_equal(value, literal.value) for literal in literals)
            return reduce(or_, equals, F.when(value.present, F.lit(_FALSE)))
        case StartsWith() | EndsWith() | Contains():
            truth = _of_string(atom, value.string)
            assert truth is not None  # noqa: S101 -- such an atom is known of all strings
            return truth
        case _:
            raise _Inexact


def _equal(value: _Value, literal: Scalar) -> Column:
    match literal:
        case None:
            same = F.is_variant_null(value.variant)
        case bool():
            same = value.is_a("BOOLEAN") & (value.as_("boolean") == literal)
        case str():
            same = value.string == _text(literal)
        case bytes():
            same = F.lit(_FALSE)
        case _:
            same = _compared(value, Operator.EQUAL, literal)
    return F.when(value.present, F.coalesce(same, F.lit(_FALSE)))


def _ordered(value: _Value, operator: Operator, literal: Scalar) -> Column:
    if isinstance(literal, str):
        return _COMPARE[operator](value.string, _text(literal))
    if isinstance(literal, bool) or not isinstance(literal, int | float):
        raise _Inexact
    return _compared(value, operator, literal)


def _compared(value: _Value, operator: Operator, number: float) -> Column:
    """Compare numbers; an integer with a double as the nearest double. Null where the value is no number."""
    if math.isnan(number) or (isinstance(number, int) and int(number) not in INT64):
        raise _Inexact
    compare = _COMPARE[operator]
    double = F.lit(float(number)).cast("double")
    if isinstance(number, int):
        of_integers = compare(value.as_("bigint"), F.lit(int(number)).cast("bigint"))
    else:
        of_integers = compare(value.as_("bigint").cast("double"), double)
    of_doubles = compare(value.as_("double"), double)
    return F.when(value.is_a("BIGINT"), of_integers).when(value.is_double, of_doubles)


def _of_text(atom: Expression, value: _Value) -> Column:
    """Ask about the canonical string. Spark writes doubles otherwise, so these are compared as numbers."""
    texts = F.coalesce(value.string, F.when(value.is_a("BIGINT", "BOOLEAN"), value.as_("string")))
    truth = _of_string(atom, texts)
    match atom:
        case Comparison(_, operator, literal) if operator in _EQUALITIES:
            equal = _is_written(value, literal.value)
            of_doubles = ~equal if operator is Operator.NOT_EQUAL else equal
        case OneOf(_, literals):
            of_doubles = reduce(or_, (_is_written(value, each.value) for each in literals), F.lit(_FALSE))
        case StartsWith(_, text) | EndsWith(_, text) | Contains(_, text) if not _IN_DOUBLES.issuperset(text):
            of_doubles = F.lit(_FALSE)
        case _:
            raise _Inexact
    assert truth is not None  # noqa: S101 -- equality is known of all strings
    return F.when(value.is_double, of_doubles).when(texts.isNotNull(), truth)


def _is_written(value: _Value, text: Scalar) -> Column:
    """Say whether a double is written so, which of all doubles at most one is; but zero has two signs."""
    try:
        number = float(text) if isinstance(text, str) else math.nan
    except ValueError:
        number = math.nan
    if number == 0:
        raise _Inexact
    if math.isnan(number) or write_double(number) != text:
        return F.lit(_FALSE)
    return value.as_("double") == F.lit(number)


def _extension(path: tuple[str, ...]) -> _Value:
    if path[0] != "ce" or len(path) != 2:
        raise _Inexact
    name = _text(path[1])
    text = F.try_element_at(F.col("extensions"), name)
    kind = F.try_element_at(F.col("extension_types"), name)
    return _Value(
        text.isNotNull(),
        F.when(kind.isNull(), text),
        F.when(kind.isNotNull(), F.try_parse_json(text)),
    )


def _let(column: Column, use: Callable[[Column], Column]) -> Column:
    """Evaluate a column once, however often it is used: Spark itself repeats what stands in conditions."""
    return F.get(F.transform(F.array(column), use), 0)


@dataclass(frozen=True, slots=True)
class _Document:
    """The data as VARIANT, the first element of an array."""

    sealed: Column

    def at(self, keys: tuple[str, ...]) -> Column:
        if not all(map(_KEY.fullmatch, keys)):
            raise _Inexact
        return F.try_variant_get(self.sealed, "$[0]" + "".join(f"['{key}']" for key in keys), "variant")

    def has(self, keys: tuple[str, ...]) -> Column:
        holder = F.schema_of_variant(self.at(keys[:-1]))
        return F.when(holder.startswith("OBJECT"), self.at(keys).isNotNull())


def _value_of(variant: Column) -> _Value:
    string = F.when(F.schema_of_variant(variant) == "STRING", F.try_variant_get(variant, "$", "string"))
    return _Value(variant.isNotNull(), string, variant)


def _of_data(
    expression: Expression, connect: Callable[[Column, Column], Column], clauses: list[Expression]
) -> Column:
    """Answer natively, but in Python about data that VARIANT refuses or may read otherwise.

    Spark reads a JSON value and ignores what follows it, so the data is read as the first element of an array whose
    second is a word that no event can know: where that isn't found, the data isn't one JSON value.
    """
    seal, json = secrets.token_hex(8), F.col("data").cast("string")

    def native(sealed: Column) -> Column:
        answer = reduce(connect, (_native(each, _Document(sealed)) for each in clauses))
        return F.when(F.try_variant_get(sealed, "$[1]", "string") == seal, answer)

    sealed = F.try_parse_json(F.concat(F.lit("["), json, F.lit(f',"{seal}"]')))
    may_be_json = F.coalesce(F.lower(F.col("datacontenttype")).contains("json"), F.lit(_TRUE))
    answer = F.when(F.col("data").isNull() | ~may_be_json, F.lit(_FALSE)).when(
        ~_is_strange(json), _let(sealed, native)
    )
    return _in_python(expression, answer)


def _is_strange(json: Column) -> Column:
    media_type = F.lower(F.col("datacontenttype"))
    odd_type = F.coalesce(~media_type.rlike(_PLAIN_JSON), F.lit(_FALSE))
    is_text = (F.col("data_kind") == int(DataKind.TEXT)) & (F.col("specversion") == "0.3")
    brackets = F.length(json) - F.length(F.replace(F.replace(json, F.lit("[")), F.lit("{")))
    return odd_type | F.coalesce(is_text, F.lit(_FALSE)) | (brackets > _DEEPEST) | ~F.is_valid_utf8(json)


def _in_python(expression: Expression, known: Column | None = None) -> Column:
    """Evaluate an expression by the Arrow back end, but send no row for which the answer is known."""
    reads_data = any(_starts_at_data(node) for node in nodes_of(expression))
    fields = [
        F.col(name) if name != "data" or reads_data else F.lit(None).cast("binary").alias(name)
        for name in SCHEMA.names
    ]
    answer = arrow_udf(_evaluator(expression), BooleanType())  # type: ignore[call-overload]  # reads the hints
    known = F.lit(None).cast("boolean") if known is None else known
    asked: Column = answer(known, F.when(known.isNull(), F.struct(*fields)))
    return asked


def _starts_at_data(node: Expression) -> bool:
    if isinstance(node, Path | Text):
        path = node.path if isinstance(node, Text) else node
        return path.steps[0] == "data"
    return is_columnar(node) and path_of(node).steps[0] == "data"


def _evaluator(expression: Expression) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def answer(known: pa.Array, rows: pa.Array) -> pa.Array:
        return evaluate_rows(expression, known, rows)

    answer.__annotations__ = {"known": pa.Array, "rows": pa.Array, "return": pa.Array}
    return answer


def evaluate_rows(expression: Expression, known: pa.BooleanArray, rows: pa.StructArray) -> pa.BooleanArray:
    """Evaluate an expression on those rows of the event table for which the answer isn't known."""
    asked = known.is_null()
    if known.null_count == 0:
        return known
    batch = pa.RecordBatch.from_struct_array(rows.filter(asked)).select(SCHEMA.names).cast(SCHEMA)
    return pc.replace_with_mask(known, asked, evaluate(expression, batch))
