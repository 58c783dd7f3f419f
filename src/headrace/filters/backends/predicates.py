"""A filter for an index: conjunctions of keys, atoms that an index can look up, and a residual that it can't.

Two-valued: unknown counts as false, which negation normal form allows. The filter matches an event exactly if all keys
and the whole residual of some conjunction are true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from headrace.filters.backends.reference import evaluate
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.ir.atoms import Comparison, EndsWith, Has, Includes, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import Constant, path_of
from headrace.filters.ir.node import Node
from headrace.filters.rewrites.deduplicate import deduplicate
from headrace.filters.rewrites.distribute import distribute
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Path
    from headrace.filters.variables import Variables

Key: TypeAlias = Has | Comparison | OneOf | Includes | StartsWith | EndsWith

_TRUE, _FALSE = Constant(value=True), Constant(value=False)


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    """Keys test equality, membership, prefix, suffix, range or existence. Without keys every event is a candidate.

    Every key is a necessary condition. It is checked in full, so `residual` doesn't repeat it.
    """

    keys: tuple[Key, ...]
    residual: tuple[Expression, ...]

    def holds(self, variables: Variables) -> bool:
        """Return whether all of it is true."""
        return all(evaluate(part, variables) is True for part in self.keys + self.residual)


def conjunctions_of(
    expression: Expression, limit: int = DEFAULT_LIMITS.alternatives
) -> tuple[Conjunction, ...]:
    """Return at most `limit` conjunctions: disjunctions that would need more stay in a residual."""
    form = distribute(deduplicate(normal_form(expression)), limit)
    return tuple(dict.fromkeys(_conjunction(each) for each in form.alternatives if _FALSE not in each))


def _conjunction(alternative: tuple[Expression, ...]) -> Conjunction:
    parts = dict.fromkeys(part for part in alternative if part != _TRUE)
    keys = [part for part in parts if is_key(part)]
    answered = {path_of(key) for key in keys if not isinstance(key, Has)}
    needed = tuple(key for key in keys if not (isinstance(key, Has) and _is_answered(key.path, answered)))
    return Conjunction(needed, tuple(part for part in parts if not is_key(part)))


def is_key(part: Expression) -> TypeGuard[Key]:
    """Return whether an index can look up the part."""
    if isinstance(part, Comparison):
        return part.operator is not Operator.NOT_EQUAL
    return isinstance(part, Has | OneOf | Includes | StartsWith | EndsWith)


def _is_answered(path: Path, answered: set[Path | None]) -> bool:
    """Return whether some other key can only be true where the path is present."""
    return any(other is not None and other.steps[: len(path.steps)] == path.steps for other in answered)
