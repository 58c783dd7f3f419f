"""The attempts that were made: when, how long, and what the sink said."""

from __future__ import annotations

from typing import NamedTuple


class Attempt(NamedTuple):
    """One try at one delivery. `stage` says at which address: `sink`, `reply` or `dead-letter`.

    `number` counts the tries at that stage from 1, `time` is when it began, in seconds since the epoch, and `seconds`
    how long it took. `verdict` is what came of it: `done`, `again`, `never` or `gone`.
    """

    subscription: str
    position: int
    replay: str
    stage: str
    number: int
    time: float
    seconds: float
    verdict: str
    status: int | None
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
