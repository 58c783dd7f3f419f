"""Atoms over a column of strings."""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.ir.atoms import Comparison, Contains, EndsWith, OneOf, Operator, StartsWith
from headrace.filters.values.budget import LONGEST_SCANNED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression

COMPARE: Final[Mapping[Operator, Callable[[Any, Any], Column]]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.LESS_OR_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_OR_EQUAL: ge,
}


def string_truth(atom: Expression, strings: Column) -> Column:  # noqa: PLR0911 -- one per node
    """Return the three-valued column of an atom. Its value doesn't matter where the string is null."""
    match atom:
        case Comparison(_, operator, literal) if isinstance(literal.value, str):
            return COMPARE[operator](strings, literal.value)
        case Comparison(_, Operator.EQUAL | Operator.NOT_EQUAL as operator, _):
            return F.lit(operator is Operator.NOT_EQUAL)
        case OneOf(_, literals):
            texts = [each.value for each in literals if isinstance(each.value, str)]
            return strings.isin(texts) if texts else F.lit(col=False)
        case StartsWith(_, prefix):
            return strings.startswith(prefix)
        case EndsWith(_, suffix):
            return strings.endswith(suffix)
        case Contains(_, text):
            return F.when(F.length(strings) <= LONGEST_SCANNED, strings.contains(text))
        case _:  # an order between strings and something else
            return F.lit(None).cast("boolean")
