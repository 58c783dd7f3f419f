"""CEL for expressions that may have errors.

CESQL's errors are not CEL's: a CESQL filter with an error is false, and its negation with `NOT` is false as well. So
each condition has two pieces of CEL, one for `true` and one for `false`, which never have errors themselves. Where
neither is true, an error occurred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.cesql.pieces import FALSE, all_of, any_of, negated

if TYPE_CHECKING:
    from headrace.filters.cesql.pieces import Piece


@dataclass(frozen=True, slots=True)
class Guarded:
    """A value that is valid where all guards are true; where one is false, there was an error.

    Without the `present` guards the value itself would be an error in CEL; `typed` are the others. A `sure` value is a
    Boolean that is true only where the typed guards are.
    """

    value: Piece
    type: type | None
    present: tuple[Piece, ...] = ()
    typed: tuple[Piece, ...] = ()
    sure: bool = False

    @property
    def guards(self) -> tuple[Piece, ...]:
        """All guards, ordered so that each may rely on those before it."""
        return (*self.present, *self.typed)

    @property
    def negated(self) -> Guarded:
        """The negation of a Boolean, an error in the same places."""
        return Guarded(negated(self.value), bool, self.present, self.typed)


@dataclass(frozen=True, slots=True)
class Condition:
    """A Boolean expression. Where it isn't true, `if_not_true` tells whether it is false; `if_not_false` the reverse.

    These two are often shorter than `true` and `false`. `guarded` is set if a single value expresses the condition.
    """

    true: Piece
    false: Piece
    if_not_true: Piece
    if_not_false: Piece
    guarded: Guarded | None = None


def condition_of(guarded: Guarded) -> Condition:
    """Return the condition of a guarded Boolean."""
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
    """Swap true and false; an error stays an error."""
    if part.guarded is not None:
        plain = condition_of(part.guarded.negated)
        return Condition(plain.true, part.true, plain.if_not_true, plain.if_not_false, plain.guarded)
    return Condition(part.false, part.true, part.if_not_false, part.if_not_true)


def conjunction(left: Condition, right: Condition) -> Condition:
    """Combine operands of AND: the right one is evaluated, and may have an error, only where the left one is true."""
    merged = _merged(left, right)
    if merged is not None:
        one, other = merged
        sure = one.sure or (other.sure and set(one.typed) == set(other.typed))
        return condition_of(Guarded(all_of(one.value, other.value), bool, one.present, one.typed, sure=sure))
    false = any_of(left.false, all_of(left.if_not_false, right.false))
    return Condition(
        true=all_of(left.true, right.true),
        false=false,
        if_not_true=false,
        if_not_false=all_of(left.if_not_false, right.if_not_false),
    )


def disjunction(left: Condition, right: Condition) -> Condition:
    """Combine operands of OR: the right one is evaluated, and may have an error, only where the left one is false."""
    merged = _merged(left, right)
    if merged is not None:
        one, other = merged
        sure = one.sure and other.sure and set(one.typed) == set(other.typed)
        return condition_of(Guarded(any_of(one.value, other.value), bool, one.present, one.typed, sure=sure))
    true = any_of(left.true, all_of(left.if_not_true, right.true))
    return Condition(
        true=true,
        false=all_of(left.false, right.false),
        if_not_true=all_of(left.if_not_true, right.if_not_true),
        if_not_false=true,
    )


def _merged(left: Condition, right: Condition) -> tuple[Guarded, Guarded] | None:
    """Return both guarded values if the left one's guards include those of the right one."""
    if left.guarded is None or right.guarded is None or FALSE in left.guarded.guards:
        return None
    enough = set(right.guarded.guards) <= set(left.guarded.guards)
    return (left.guarded, right.guarded) if enough else None
