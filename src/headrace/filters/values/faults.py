"""Why something has no value. Reading it as a truth value gives unknown."""

from __future__ import annotations


class Fault(Exception):
    """CEL's error. `reason` says it in words for the author of the filter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
