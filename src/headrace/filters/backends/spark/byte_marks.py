"""What the bytes of a JSON document must have in them for a clause about it to be true.

A key or a string that the clause needs stands in the document as it is, unless with an escape: so data without the
text and without a backslash needn't be read. Base64 of 0.3 events hides everything and is always read.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.events.event import DataKind
from headrace.filters.backends.arrow.evaluator import is_columnar, path_of
from headrace.filters.backends.spark.support import is_unicode
from headrace.filters.ir.atoms import Comparison, Contains, EndsWith, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import Not
from headrace.filters.ir.operands import Path

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression

_MOST = 8


def marks_of(clause: Expression) -> tuple[str, ...]:
    """Return texts of which one stands in every plain document on which the clause is true; none: not known."""
    if not is_columnar(clause) or path_of(clause).steps[0] != "data":
        return ()
    marks = _strings_of(clause)
    if not marks or len(marks) > _MOST or "" in marks:
        marks = _keys_of(clause)
    return marks if all(map(is_unicode, marks)) else ()


def mark_column(clause: Expression) -> Column:
    """Return a column that is false only where the data can't make a clause with marks true."""
    data = F.col("data").cast("string")
    found = (data.contains(text) for text in (*marks_of(clause), "\\"))
    hidden = F.col("data_kind") == int(DataKind.TEXT)
    return F.coalesce(reduce(or_, found) | hidden, F.lit(col=False))


def _strings_of(clause: Expression) -> tuple[str, ...]:
    match clause:
        case Comparison(Path(), Operator.EQUAL, literal) if isinstance(literal.value, str):
            return (f'"{literal.value}"',)
        case OneOf(Path(), literals):
            texts = [each.value for each in literals if isinstance(each.value, str)]
            return tuple(f'"{text}"' for text in texts) if len(texts) == len(literals) else ()
        case StartsWith(Path(), prefix):
            return (f'"{prefix}',)
        case EndsWith(Path(), suffix):
            return (f'{suffix}"',)
        case Contains(Path(), text):
            return (text,)
        case _:
            return ()


def _keys_of(clause: Expression) -> tuple[str, ...]:
    """Return the last key that is there: what is absent may be so only from a map."""
    steps = path_of(clause).steps
    keys = steps[1:-1] if isinstance(clause, Not) and isinstance(clause.part, Has) else steps[1:]
    return tuple(f'"{key}"' for key in keys[-1:])
