"""`a == "xy" && B || a == "xz" && C -> a.startsWith("x")`: a shorter superset of many conjunctions.

Conjunctions about the same operands are covered together. Each operand keeps a few values and prefixes and one range of
numbers that include all values of the conjunctions. What can't be covered is left out, which widens as well.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from headrace.filters.ir.atoms import Comparison, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import all_of, any_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand
    from headrace.filters.rewrites.distribute import Alternative

_Parts: TypeAlias = "Sequence[Expression]"
_ABOVE = (Operator.GREATER_OR_EQUAL, Operator.GREATER)
_BELOW = (Operator.LESS_OR_EQUAL, Operator.LESS)


def cover(alternatives: Iterable[Alternative], most: int) -> list[Alternative]:
    """Return alternatives one of which is true wherever one of these is, with at most `most` values per operand.

    An alternative of which nothing can be covered stays as it is.
    """
    shapes: dict[frozenset[Operand], dict[Operand, list[_Parts]]] = {}
    uncovered: dict[Alternative, None] = {}
    for each in alternatives:
        asked = _by_operand(each)
        if not asked:
            uncovered[each] = None
            continue
        together = shapes.setdefault(frozenset(asked), {operand: [] for operand in asked})
        for operand, parts in asked.items():
            together[operand].append(parts)
    covers = [
        tuple(part for operand, asked in together.items() for part in _covered(operand, asked, most))
        for together in shapes.values()
    ]
    return [*covers, *uncovered]


def literals_of(part: Expression) -> tuple[Literal, ...]:
    """Return the literals of an equality or membership test; none for any other part."""
    match part:
        case Comparison(_, Operator.EQUAL, literal):
            return (literal,)
        case OneOf(_, literals):
            return literals
        case _:
            return ()


def one_of(operand: Operand, literals: Iterable[Literal]) -> Expression:
    """Return the condition that the operand equals one of the literals, without repetitions."""
    distinct = tuple(dict.fromkeys(literals))
    if len(distinct) == 1:
        return Comparison(operand, Operator.EQUAL, distinct[0])
    return OneOf(operand, distinct)


def _by_operand(alternative: Alternative) -> dict[Operand, list[Expression]]:
    asked: dict[Operand, list[Expression]] = defaultdict(list)
    for part in alternative:
        match part:
            case Has(path):
                asked[path].append(part)
            case Comparison(operand, operator, literal) if operator is not Operator.EQUAL and (
                operator is Operator.NOT_EQUAL or not _is_number(literal)
            ):
                continue  # neither a value nor a bound
            case StartsWith(operand) | Comparison(operand) | OneOf(operand):
                asked[operand].append(part)
    return asked


def _covered(operand: Operand, asked: list[_Parts], most: int) -> tuple[Expression, ...]:
    """Return a condition that is true wherever all parts of any of these are; nothing if there is none."""
    texts: dict[str, bool] = {}
    numbers: list[_Parts] = []
    others: dict[Literal, None] = {}
    for parts in asked:
        equal = next(filter(None, map(literals_of, parts)), ())
        starting = next((part for part in parts if isinstance(part, StartsWith)), None)
        if equal:
            _sort(equal, operand, texts, numbers, others)
        elif starting is not None:
            texts[starting.prefix] = False
        elif compared := [part for part in parts if isinstance(part, Comparison)]:
            numbers.append(compared)
        else:
            return _present(operand)
    ways = _of_texts(operand, texts, others, most)
    if numbers:
        span = _span(operand, numbers, most)
        if span is None:
            return _present(operand)
        ways.append(span)
    return (any_of(tuple(ways)),)


def _sort(
    literals: tuple[Literal, ...],
    operand: Operand,
    texts: dict[str, bool],
    numbers: list[_Parts],
    others: dict[Literal, None],
) -> None:
    for literal in literals:
        if isinstance(literal.value, str):
            texts.setdefault(literal.value, True)
        elif _is_number(literal):
            numbers.append([Comparison(operand, Operator.EQUAL, literal)])
        else:
            others[literal] = None


def _is_number(literal: Literal) -> bool:
    value = literal.value
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _present(operand: Operand) -> tuple[Expression, ...]:
    """`a == 1 -> has(a)`: what is compared must be present. The presence of a bare variable can't be tested."""
    path = operand if isinstance(operand, Path) else operand.path
    return (Has(path),) if len(path.steps) > 1 else ()


def _of_texts(
    operand: Operand, texts: Mapping[str, bool], others: Iterable[Literal], most: int
) -> list[Expression]:
    found = _prefixes(texts, most)
    whole = [*(Literal(text) for text, is_whole in found.items() if is_whole), *others]
    ways: list[Expression] = [one_of(operand, whole)] if whole else []
    return ways + [StartsWith(operand, text) for text, is_whole in found.items() if not is_whole]


def _prefixes(texts: Mapping[str, bool], most: int) -> dict[str, bool]:
    """Return at most `most` prefixes that cover all texts, each with whether it is a whole value.

    Texts with a common prefix are split further, the largest group first, up to that number.
    """
    ordered = sorted(texts)
    waiting = [(-len(ordered), 0, len(ordered))] if ordered else []
    done: dict[str, bool] = {}
    while waiting:
        _, low, high = heapq.heappop(waiting)
        prefix = ordered[low] if high - low == 1 else _common(ordered[low], ordered[high - 1])
        if high - low == 1 or texts.get(prefix) is False:
            done[prefix] = texts[prefix]
            continue
        groups = _split(ordered, low, high, len(prefix))
        if len(done) + len(waiting) + len(groups) > most:
            done[prefix] = False
        else:
            for group in groups:
                heapq.heappush(waiting, (group[0] - group[1], *group))
    return dict(sorted(done.items()))


def _split(ordered: list[str], low: int, high: int, at: int) -> list[tuple[int, int]]:
    """Return the ranges of sorted texts with the same character, or none, at an index."""
    cuts = [
        index
        for index in range(low + 1, high)
        if ordered[index][at : at + 1] != ordered[index - 1][at : at + 1]
    ]
    return list(zip([low, *cuts], [*cuts, high], strict=True))


def _common(first: str, second: str) -> str:
    """Return the longest common prefix of two texts."""
    size = next(
        (at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), None
    )
    return first[: min(len(first), len(second)) if size is None else size]


def _span(operand: Operand, numbers: list[_Parts], most: int) -> Expression | None:
    """Return the values if they are few, else the range from the least to the greatest bound; None if unbounded."""
    literals = [literal for parts in numbers for part in parts for literal in literals_of(part)]
    if len(literals) == len(numbers) and len(set(literals)) <= most:
        return one_of(operand, literals)
    lows = [_bound(parts, _ABOVE) for parts in numbers]
    highs = [_bound(parts, _BELOW) for parts in numbers]
    bounds: list[Expression] = []
    if None not in lows:
        value, is_open = min(
            (low for low in lows if low is not None), key=lambda each: (each[0].value, each[1])
        )
        bounds.append(Comparison(operand, _ABOVE[is_open], value))
    if None not in highs:
        value, is_open = max(
            (high for high in highs if high is not None), key=lambda each: (each[0].value, not each[1])
        )
        bounds.append(Comparison(operand, _BELOW[is_open], value))
    return all_of(tuple(bounds)) if bounds else None


def _bound(parts: _Parts, operators: tuple[Operator, Operator]) -> tuple[Literal, bool] | None:
    """Return a bound that the parts set on this side, and whether it is excluded."""
    for part in parts:
        match part:
            case Comparison(_, operator, literal) if operator is Operator.EQUAL or operator in operators:
                return literal, operator is operators[1]
    return None
