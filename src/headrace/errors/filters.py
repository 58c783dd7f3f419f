"""Errors of filters."""

from __future__ import annotations

from typing import Any

from headrace.errors.faults import InvalidInput, TextFault, fault_of


class FilterError(InvalidInput):
    """A filter that can't be compiled. It is never dropped and never treated as true.

    `path` says where in the filter object (`filters[0].all[1].exact`), `position` where in an expression's
    text, if the fault lies in one. `value` is what was refused, `limit` the name of the limit that was passed.
    """

    code = "invalid-filter"

    def __init__(
        self,
        problem: str,
        *,
        path: str = "",
        source: str | None = None,
        position: int | None = None,
        value: object = None,
        limit: str | None = None,
    ) -> None:
        self.problem = problem
        self.path = path
        self.value = value
        self.limit = limit
        self.source = source
        self.position = position
        super().__init__(f"{path}: {self.detail}" if path else self.detail)

    @property
    def detail(self) -> str:
        """What is wrong, with the line and a caret where the fault lies in an expression's text."""
        if self.source is None or self.position is None:
            return self.problem
        return TextFault(self.problem, self.source, self.position)

    def members(self) -> dict[str, Any]:
        """Return the fault, and the limit that was passed."""
        limit = {} if self.limit is None else {"limit": self.limit}
        return {"faults": [fault_of(self.path, self.detail) | limit]}
