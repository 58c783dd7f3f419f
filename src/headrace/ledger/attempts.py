"""The attempts that were made: when, how long, and what the sink said."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import insert

from headrace.ledger.tables import ATTEMPTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_NO_HEADERS = "[]"


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


def write(connection: Connection, attempts: Sequence[Attempt]) -> None:
    """Add attempts to the log, in the transaction of the connection."""
    if attempts:
        connection.execute(insert(ATTEMPTS), [_row(each) for each in attempts])


def _row(attempt: Attempt) -> dict[str, object]:
    row: dict[str, object] = attempt._asdict()
    row["attempt"] = row.pop("number")
    headers = attempt.headers
    row["headers"] = msgspec.json.encode(headers).decode() if headers else _NO_HEADERS
    return row
