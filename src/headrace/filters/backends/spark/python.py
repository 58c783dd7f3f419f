"""The Arrow back end inside Spark: evaluate in Python what isn't native, with only the columns that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BooleanType

from headrace.events.batch import SCHEMA
from headrace.filters.backends.arrow.evaluator import evaluate
from headrace.filters.backends.arrow.table import STRING_COLUMNS
from headrace.filters.ir.parts import paths_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression

_EXTENSIONS = ("extensions", "extension_types")
_ATTRIBUTES = (*(name for path, name in STRING_COLUMNS.items() if path[0] == "ce"), *_EXTENSIONS)
# An extension tells whether a text is base64. Send it for all rows: sending null maps takes Spark six times as long.
_TO_READ_DATA = ("data", "datacontenttype", "specversion", "extensions")


def in_python(expression: Expression, known: Column) -> Column:
    """Evaluate an expression where `known` is null; don't send the data of the other rows."""
    fields = {name: F.col(name) for name in columns_of(expression)}
    if "data" in fields:
        fields["data"] = F.when(known.isNull(), fields["data"])
    row = F.struct(*(fields[name].alias(name) for name in SCHEMA.names if name in fields))
    answer = arrow_udf(_evaluator(expression), BooleanType())  # type: ignore[call-overload]  # reads the hints
    asked: Column = answer(known, row)
    return asked


def columns_of(expression: Expression) -> frozenset[str]:
    """Return the columns of the event table that the expression reads."""
    found = {name for path in paths_of(expression) for name in _columns_of_path(path.steps)}
    return frozenset(found | {"data_kind"})


def _columns_of_path(steps: tuple[str, ...]) -> tuple[str, ...]:
    match steps:
        case ("data", *_):
            return _TO_READ_DATA
        case ("publishTime", *_):
            return ("publish_time",)
        case ("eventTime", *_):
            return ("time",)
        case ("ce",):
            return _ATTRIBUTES
        case ("ce", name, *_) if ("ce", name) not in STRING_COLUMNS:
            return _EXTENSIONS
        case _:
            return tuple(name for path, name in STRING_COLUMNS.items() if path == steps[: len(path)])


def _evaluator(expression: Expression) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def answer(known: pa.Array, rows: pa.Array) -> pa.Array:
        return _evaluate_rows(expression, known, rows)

    answer.__annotations__ = {"known": pa.Array, "rows": pa.Array, "return": pa.Array}
    return answer


def _evaluate_rows(expression: Expression, known: pa.BooleanArray, rows: pa.StructArray) -> pa.BooleanArray:
    """Evaluate an expression on the rows where `known` is null; they have the columns that it reads."""
    if known.null_count == 0:
        return known
    asked = known.is_null()
    answers = evaluate(
        expression, _event_table(rows if known.null_count == len(known) else rows.filter(asked))
    )
    return answers if known.null_count == len(known) else pc.replace_with_mask(known, asked, answers)


def _event_table(rows: pa.StructArray) -> pa.RecordBatch:
    sent = pa.RecordBatch.from_struct_array(rows)
    names = frozenset(sent.schema.names)
    columns = [
        sent[field.name].cast(field.type) if field.name in names else pa.nulls(len(rows), field.type)
        for field in SCHEMA
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
