"""What a function of CEL is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.values.kinds import Kind


@dataclass(frozen=True, slots=True)
class Function:
    """A function. A `member` function is called as `first.name(rest)`.

    `takes` has the types of each argument of an extension, a function that CEL's standard library lacks, and `returns`
    the type of its result, if it has only one. As many arguments are given as `arity` says.
    """

    apply: Callable[..., Any]
    member: bool = False
    arity: tuple[int, ...] = (1,)
    takes: tuple[tuple[Kind, ...], ...] = ()
    returns: Kind | None = None
