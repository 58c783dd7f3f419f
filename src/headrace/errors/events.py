"""Errors of events and of the bytes that carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors.base import HeadraceError
from headrace.errors.faults import MOST_FAULTS, InvalidInput, faults_listed, shortened, summary

if TYPE_CHECKING:
    from collections.abc import Sequence


class InvalidEvent(InvalidInput):
    """Not a CloudEvent. `faults` lists what is wrong with it, not only the first thing.

    Of a batch there may be `more` faults than are listed, and events that were not looked at.
    """

    code = "invalid-event"

    def __init__(self, faults: Sequence[str], more: int = 0, unexamined: int = 0) -> None:
        rest = f"; {unexamined:,} more events were not looked at" if unexamined else ""
        super().__init__(summary(faults, more) + rest)
        self.faults = tuple(faults)
        self.more = more
        self.unexamined = unexamined

    def members(self) -> dict[str, Any]:
        """Return the first faults, and how much else was found and not looked at."""
        listed = [shortened(each) for each in self.faults[:MOST_FAULTS]]
        rest = {"unexamined": self.unexamined} if self.unexamined else {}
        return faults_listed(listed, len(self.faults) + self.more) | rest


class UnsupportedFormat(HeadraceError):
    """A media type or encoding that isn't read here. `supported` lists those that are."""

    code = "unsupported-format"
    http_status = 415

    def __init__(self, given: str, supported: Sequence[str]) -> None:
        super().__init__(f"{given!r} is not supported; send one of: {', '.join(supported)}")
        self.given = given
        self.supported = tuple(supported)


class PayloadTooLarge(HeadraceError):
    """More bytes than the limit allows."""

    code = "payload-too-large"
    http_status = 413

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{what} is larger than the limit of {limit} bytes")
        self.limit = limit


class SentTooSlowly(HeadraceError):
    """The body of a request did not come in time."""

    code = "sent-too-slowly"
    http_status = 408

    def __init__(self, what: str, idle: float, longest: float) -> None:
        super().__init__(
            f"nothing more of {what} came for {idle:g} seconds, or it took longer than {longest:g} seconds in all; "
            "nothing was done, send it again"
        )
        self.idle = idle
        self.longest = longest
