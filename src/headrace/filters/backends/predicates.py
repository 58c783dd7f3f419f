"""A filter for an index: conjunctions, each of atoms that an index can look up and a rest that it can't.

Two-valued: whatever is unknown counts as false, which negation normal form allows. The filter matches an event
exactly where all keys and the whole rest of some conjunction are true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from headrace.filters.backends.reference import evaluate
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.ir.atoms import Comparison, EndsWith, Has, Includes, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import Constant
from headrace.filters.ir.node import Node
from headrace.filters.ir.operands import Text
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
    """`keys`: equality, membership, prefix, suffix, range and existence. No key: every event is a candidate.

    A key is a necessary condition, and it is checked in full: `residual` doesn't repeat it.
    """

    keys: tuple[Key, ...]
    residual: tuple[Expression, ...]

    def holds(self, variables: Variables) -> bool:
        """Say whether all of it is true."""
        return all(evaluate(part, variables) is True for part in self.keys + self.residual)


def conjunctions_of(
    expression: Expression, limit: int = DEFAULT_LIMITS.alternatives
) -> tuple[Conjunction, ...]:
    """Return the conjunctions, at most `limit` of them: what would need more stays together in a residual."""
    form = distribute(deduplicate(normal_form(expression)), limit)
    return tuple(dict.fromkeys(_conjunction(each) for each in form.alternatives if _FALSE not in each))


def _conjunction(alternative: tuple[Expression, ...]) -> Conjunction:
    parts = dict.fromkeys(part for part in alternative if part != _TRUE)
    keys = [part for part in parts if is_key(part)]
    answered = {_path_of(key) for key in keys if not isinstance(key, Has)}
    needed = tuple(key for key in keys if not (isinstance(key, Has) and _is_answered(key.path, answered)))
    return Conjunction(needed, tuple(part for part in parts if not is_key(part)))


def is_key(part: Expression) -> TypeGuard[Key]:
    """Say whether an index can look the part up."""
    if isinstance(part, Comparison):
        return part.operator is not Operator.NOT_EQUAL
    return isinstance(part, Has | OneOf | Includes | StartsWith | EndsWith)


def _path_of(key: Comparison | OneOf | Includes | StartsWith | EndsWith) -> Path:
    return key.operand.path if isinstance(key.operand, Text) else key.operand


def _is_answered(path: Path, answered: set[Path]) -> bool:
    """Say whether some other key can only be true where the path is present."""
    return any(other.steps[: len(path.steps)] == path.steps for other in answered)
