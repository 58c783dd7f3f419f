"""The Arrow back end inside of Spark: what isn't native, asked in Python with only the columns that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BooleanType

from headrace.events.batch import SCHEMA
from headrace.filters.backends.arrow.evaluator import evaluate
from headrace.filters.backends.spark.support import STRING_COLUMNS
from headrace.filters.ir.expression import paths_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression

_EXTENSIONS = ("extensions", "extension_types")
_ATTRIBUTES = (*(name for path, name in STRING_COLUMNS.items() if path[0] == "ce"), *_EXTENSIONS)
# An extension says whether a text is base64. It is sent for all rows: Spark takes six times as long to send null maps.
_TO_READ_DATA = ("data", "datacontenttype", "specversion", "extensions")


def in_python(expression: Expression, known: Column) -> Column:
    """Evaluate an expression, but send no data for which the answer is known, that is, not null."""
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
        return evaluate_rows(expression, known, rows)

    answer.__annotations__ = {"known": pa.Array, "rows": pa.Array, "return": pa.Array}
    return answer


def evaluate_rows(expression: Expression, known: pa.BooleanArray, rows: pa.StructArray) -> pa.BooleanArray:
    """Evaluate an expression on those rows for which the answer isn't known; they need the columns that it reads."""
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
