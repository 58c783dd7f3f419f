"""What CEL must be told about an expression that may have errors.

CESQL's errors are not CEL's: a CESQL filter with an error is false, and so `NOT` of it is false as well. Each
condition therefore carries both answers, `true` and `false`, as CEL that never has an error itself.
Where neither holds, an error occurred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.cesql.pieces import FALSE, all_of, any_of, negated, relate

if TYPE_CHECKING:
    from headrace.filters.cesql.casts import TypeName
    from headrace.filters.cesql.pieces import Piece


@dataclass(frozen=True, slots=True)
class Guarded:
    """A value that is right where all guards hold; where one doesn't, there was an error.

    `present` are the guards without which the value itself would be an error of CEL, `typed` the others. A `sure`
    value is a Boolean that is true only where the typed guards hold.
    """

    value: Piece
    type: TypeName | None
    present: tuple[Piece, ...] = ()
    typed: tuple[Piece, ...] = ()
    sure: bool = False

    @property
    def guards(self) -> tuple[Piece, ...]:
        """All guards, in an order in which each may rely on those before."""
        return (*self.present, *self.typed)


@dataclass(frozen=True, slots=True)
class Condition:
    """A Boolean expression. `if_not_true` says, where it is not true, that it is false; `if_not_false` the reverse.

    These two are often shorter than `true` and `false`. `guarded` is there where one value says it all.
    """

    true: Piece
    false: Piece
    if_not_true: Piece
    if_not_false: Piece
    guarded: Guarded | None = None


def condition_of(guarded: Guarded) -> Condition:
    """Return the condition that a guarded Boolean is."""
    guards = all_of(*guarded.guards)
    needed = guarded.present if guarded.sure else guarded.guards
    return Condition(
        true=all_of(*needed, guarded.value),
        false=all_of(guards, negated(guarded.value)),
        if_not_true=guards,
        if_not_false=guards,
        guarded=guarded,
    )


def negation(part: Condition) -> Condition:
    """Swap true and false; an error stays one."""
    if part.guarded is not None:
        it = part.guarded
        plain = condition_of(Guarded(negated(it.value), "Boolean", it.present, it.typed))
        return Condition(plain.true, part.true, plain.if_not_true, plain.if_not_false, plain.guarded)
    return Condition(part.false, part.true, part.if_not_false, part.if_not_true)


def conjunction(left: Condition, right: Condition) -> Condition:
    """The right operand is evaluated, and can have an error, only where the left one is true."""
    merged = _merged(left, right)
    if merged is not None:
        one, other = merged
        sure = one.sure or (other.sure and set(one.typed) == set(other.typed))
        return condition_of(
            Guarded(all_of(one.value, other.value), "Boolean", one.present, one.typed, sure=sure)
        )
    false = any_of(left.false, all_of(left.if_not_false, right.false))
    return Condition(
        true=all_of(left.true, right.true),
        false=false,
        if_not_true=false,
        if_not_false=all_of(left.if_not_false, right.if_not_false),
    )


def disjunction(left: Condition, right: Condition) -> Condition:
    """The right operand is evaluated, and can have an error, only where the left one is false."""
    merged = _merged(left, right)
    if merged is not None:
        one, other = merged
        sure = one.sure and other.sure and set(one.typed) == set(other.typed)
        return condition_of(
            Guarded(any_of(one.value, other.value), "Boolean", one.present, one.typed, sure=sure)
        )
    true = any_of(left.true, all_of(left.if_not_true, right.true))
    return Condition(
        true=true,
        false=all_of(left.false, right.false),
        if_not_true=all_of(left.if_not_true, right.if_not_true),
        if_not_false=true,
    )


def exclusion(left: Condition, right: Condition) -> Condition:
    """Exclusive or: both operands are always evaluated."""
    one, other = left.guarded, right.guarded
    if one is not None and other is not None:
        value = relate(one.value, "!=", other.value)
        present, typed = (*one.present, *other.present), (*one.typed, *other.typed)
        return condition_of(Guarded(value, "Boolean", present, typed))
    true = any_of(all_of(left.true, right.false), all_of(left.false, right.true))
    false = any_of(all_of(left.true, right.true), all_of(left.false, right.false))
    return Condition(true, false, false, true)


def _merged(left: Condition, right: Condition) -> tuple[Guarded, Guarded] | None:
    """Return both guarded values where the left one's guards are enough for both."""
    if left.guarded is None or right.guarded is None or FALSE in left.guarded.guards:
        return None
    enough = set(right.guarded.guards) <= set(left.guarded.guards)
    return (left.guarded, right.guarded) if enough else None
