"""Errors of subscriptions and channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors.base import HeadraceError
from headrace.errors.faults import InvalidDocument, InvalidInput, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class InvalidSubscription(InvalidDocument):
    """A subscription that can't be created. `faults` maps a property's path to what is wrong with it."""

    code = "invalid-subscription"


class InvalidImport(InvalidInput):
    """Some of many subscriptions are faulty, so that none was created. `lines` has the faults of the first of them."""

    code = "invalid-import"

    def __init__(self, refused: int, lines: Sequence[tuple[int, Sequence[tuple[str, str]]]]) -> None:
        super().__init__(
            f"{refused} line{'s' if refused != 1 else ''} can't be used and nothing was created; "
            "correct them, or ask to have them skipped"
        )
        self.refused = refused
        self.lines = tuple(lines)

    def members(self) -> dict[str, Any]:
        """Return the number of faulty lines, and the faults of the first of them."""
        return {"refused": self.refused, "lines": lines_of(self.lines)}


class InvalidChannel(InvalidDocument):
    """A channel that can't be made so. `faults` maps a property's path to what is wrong with it, where it has paths."""

    code = "invalid-channel"

    def __init__(self, problem: str, faults: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(faults, problem)


class InterestRefused(HeadraceError):
    """An operator decided that publishers aren't told what is wanted: they send everything."""

    code = "interest-refused"
    http_status = 403

    def __init__(self, channel: str) -> None:
        super().__init__(
            f"what the subscriptions of channel {channel} want is not told here: send every event"
        )
