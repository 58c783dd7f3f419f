"""Texts that a JSON document must contain for a clause about it to be true.

A key or a string that the clause requires occurs literally in the document, unless it is escaped: so data with neither
the text nor a backslash needn't be parsed. The base64 data of 0.3 events is always parsed.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.events.event import DataKind
from headrace.filters.backends.arrow.evaluator import columnar_path
from headrace.filters.ir.atoms import Comparison, Contains, EndsWith, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import Not
from headrace.filters.ir.operands import Path
from headrace.filters.values.texts import is_unicode

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression

_MOST = 8


def required_texts(clause: Expression) -> tuple[str, ...]:
    """Return texts one of which a plain document must contain for the clause to be true; none if unknown."""
    path = columnar_path(clause)
    if path is None or path.steps[0] != "data":
        return ()
    texts = _strings_of(clause)
    if not texts or len(texts) > _MOST or "" in texts:
        texts = _keys_of(clause, path.steps)
    return texts if all(map(is_unicode, texts)) else ()


def required_texts_column(clause: Expression) -> Column:
    """Return a column that is false only where the data lacks the texts that a clause requires."""
    data = F.col("data").cast("string")
    found = (data.contains(text) for text in (*required_texts(clause), "\\"))
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


def _keys_of(clause: Expression, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Return the last key that must be present: an absent key requires the map that it is absent from."""
    keys = steps[1:-1] if isinstance(clause, Not) and isinstance(clause.part, Has) else steps[1:]
    return tuple(f'"{key}"' for key in keys[-1:])
