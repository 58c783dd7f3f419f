"""The error of evaluation. A clause that raises it is unknown."""

from __future__ import annotations


class Fault(Exception):
    """An expression has no value. `reason` tells the author of the filter why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
