"""Evaluate atoms on the values at one path: with Arrow's functions if they agree, else once per distinct value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.filters.backends.arrow.columns import valid
from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    OneOf,
    Operator,
    StartsWith,
)
from headrace.filters.ir.expression import Not, path_of
from headrace.filters.ir.operands import Text
from headrace.filters.values.budget import LONGEST_SCANNED
from headrace.filters.values.kinds import INT64

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.backends.arrow.columns import Mask, PathColumn
    from headrace.filters.ir.expression import Expression

_COMPARE: dict[Operator, Callable[..., pa.Array]] = {
    Operator.EQUAL: pc.equal,
    Operator.NOT_EQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.LESS_OR_EQUAL: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.GREATER_OR_EQUAL: pc.greater_equal,
}


def holds_in(clause: Expression, column: PathColumn) -> Mask:
    """Return for each row whether the atom, or its negation, is true there."""
    atom, negated = (clause.part, True) if isinstance(clause, Not) else (clause, False)
    if isinstance(atom, Has):
        return _absent(column) if negated else column.present
    holds = np.zeros(column.num_rows, np.bool_)
    for array in () if isinstance(atom, Includes) else column.scalars:
        holds |= _in_array(atom, negated, array)
    if column.nulls is not None and column.nulls.any() and _is_true(clause, None):
        holds |= column.nulls
    for row, value in column.others.items():
        holds[row] = _is_true(clause, value)
    return holds


def _absent(column: PathColumn) -> Mask:
    return np.zeros(column.num_rows, np.bool_) if column.absent is None else column.absent


def _in_array(atom: Expression, negated: bool, array: pa.Array) -> Mask:
    answer = _answer(atom, array)
    if answer is None:
        return _by_distinct_value(Not(atom) if negated else atom, array)
    # Null is unknown: neither the atom nor its negation is true.
    mask: Mask = pc.fill_null(answer, negated).to_numpy(zero_copy_only=False)
    return (~mask if negated else mask) & valid(array)


def _answer(atom: Expression, array: pa.Array) -> pa.Array | None:
    """Return the values of the atom if Arrow can evaluate it for all valid values, else None."""
    try:
        if pa.types.is_string(array.type):
            return _of_strings(atom, array)
        if isinstance(atom, Comparison) and not isinstance(atom.operand, Text):
            return _of_numbers(atom, array)
    except UnicodeEncodeError:  # a constant with a lone surrogate
        return None
    return None


def _of_strings(atom: Expression, array: pa.Array) -> pa.Array | None:
    match atom:
        case Comparison(_, operator, literal) if isinstance(literal.value, str):
            return _COMPARE[operator](array, pa.scalar(literal.value, array.type))
        case OneOf(_, literals):
            texts = [each.value for each in literals if isinstance(each.value, str)]
            return pc.is_in(array, pa.array(texts, array.type))
        case StartsWith(_, prefix):
            return pc.starts_with(array, prefix)
        case EndsWith(_, suffix):
            return pc.ends_with(array, suffix)
        case Contains(_, text):
            return _contains(array, text)
        case _:
            return None


def _contains(array: pa.Array, text: str) -> pa.Array:
    # Texts of few bytes have few characters, which need not be counted.
    found = pc.match_substring(array, text)
    if (pc.max(pc.binary_length(array)).as_py() or 0) <= LONGEST_SCANNED:
        return found
    return pc.if_else(pc.less_equal(pc.utf8_length(array), LONGEST_SCANNED), found, None)


def _of_numbers(atom: Comparison, array: pa.Array) -> pa.Array | None:
    number = atom.literal.value
    if isinstance(number, bool) or not isinstance(number, int | float) or pa.types.is_boolean(array.type):
        return None
    compare = _COMPARE[atom.operator]
    if pa.types.is_floating(array.type):
        return compare(array, pa.scalar(float(number)))
    if isinstance(number, float):
        # An integer is compared with a double as the nearest double.
        return compare(array.cast(pa.float64(), safe=False), pa.scalar(number))
    # Testing a subclass of int would walk through the range.
    return compare(array, pa.scalar(int(number))) if int(number) in INT64 else None


def _by_distinct_value(clause: Expression, array: pa.Array) -> Mask:
    encoded = array.dictionary_encode()
    truths = pa.array([_is_true(clause, value) for value in encoded.dictionary.to_pylist()], pa.bool_())
    mask: Mask = pc.fill_null(truths.take(encoded.indices), False).to_numpy(zero_copy_only=False)
    return mask


def _is_true(clause: Expression, value: Any) -> bool:
    path = path_of(clause)
    assert path is not None  # noqa: S101  columns only answer clauses about a path
    bound = value
    for step in reversed(path.steps):
        bound = {step: bound}
    return evaluate(clause, bound) is True
