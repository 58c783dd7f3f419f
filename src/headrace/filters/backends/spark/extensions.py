"""Atoms over an extension, which may be a string, a boolean, a number or any other JSON value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.backends.spark.strings import COMPARE, string_truth
from headrace.filters.ir.atoms import Comparison, Has, OneOf, Operator
from headrace.filters.ir.operands import Text
from headrace.filters.values.texts import write_double

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Scalar


def extension_truth(atom: Expression, name: str) -> Column:
    """Return the three-valued column of a native atom."""
    text = F.try_element_at(F.col("extensions"), F.lit(name))
    kind = F.try_element_at(F.col("extension_types"), F.lit(name))
    json = F.when(kind.isNotNull(), F.try_parse_json(text))
    return _truth(atom, _Value(text.isNotNull(), F.when(kind.isNull(), text), json))


@dataclass(frozen=True, slots=True)
class _Value:
    """A string, or a variant of any other type. Each is null where the value is the other, or absent."""

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


def _truth(atom: Expression, value: _Value) -> Column:  # noqa: PLR0911 -- one per node
    if isinstance(getattr(atom, "operand", None), Text):
        return _of_text(atom, value)
    match atom:
        case Has():
            return value.present
        case Comparison(_, Operator.EQUAL, literal):
            return _equal(value, literal.value)
        case Comparison(_, Operator.NOT_EQUAL, literal):
            return ~_equal(value, literal.value)
        case Comparison(_, operator, literal) if isinstance(literal.value, int | float):
            return _compared(value, operator, literal.value)
        case OneOf(_, literals):
            equals = (_equal(value, literal.value) for literal in literals)
            return reduce(or_, equals, F.when(value.present, F.lit(col=False)))
        case _:
            return string_truth(atom, value.string)


def _equal(value: _Value, literal: Scalar) -> Column:
    match literal:
        case None:
            same = F.is_variant_null(value.variant)
        case bool():
            same = value.is_a("BOOLEAN") & (value.as_("boolean") == literal)
        case str():
            same = value.string == literal
        case bytes():
            same = F.lit(col=False)
        case _:
            same = _compared(value, Operator.EQUAL, literal)
    return F.when(value.present, F.coalesce(same, F.lit(col=False)))


def _compared(value: _Value, operator: Operator, number: float) -> Column:
    """Compare numbers, an integer with a double as the nearest double. Null where the value isn't a number."""
    compare = COMPARE[operator]
    double = F.lit(float(number)).cast("double")
    if isinstance(number, int):
        of_integers = compare(value.as_("bigint"), F.lit(int(number)).cast("bigint"))
    else:
        of_integers = compare(value.as_("bigint").cast("double"), double)
    of_doubles = compare(value.as_("double"), double)
    return F.when(value.is_a("BIGINT"), of_integers).when(value.is_double, of_doubles)


def _of_text(atom: Expression, value: _Value) -> Column:
    """Test the canonical string. Spark writes doubles differently, so these are compared as numbers."""
    texts = F.coalesce(value.string, F.when(value.is_a("BIGINT", "BOOLEAN"), value.as_("string")))
    of_others = F.when(texts.isNotNull(), string_truth(atom, texts))
    return F.when(value.is_double, _of_double(atom, value)).otherwise(of_others)


def _of_double(atom: Expression, value: _Value) -> Column:
    match atom:
        case Comparison(_, Operator.NOT_EQUAL, literal):
            return ~_is_written(value, literal.value)
        case Comparison(_, _, literal):
            return _is_written(value, literal.value)
        case OneOf(_, literals):
            return reduce(or_, (_is_written(value, each.value) for each in literals), F.lit(col=False))
        case _:  # requires characters that the text of a double never has
            return F.lit(col=False)


def _is_written(value: _Value, text: Scalar) -> Column:
    """Return whether the text is that of the double. At most one double has it, except zero, which isn't native."""
    try:
        number = float(text) if isinstance(text, str) else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number) or write_double(number) != text:
        return F.lit(col=False)
    return value.as_("double") == F.lit(number)
