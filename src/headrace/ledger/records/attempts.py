"""The attempts that were made: when, how long, and what the sink said. Kept for a while, and up to so many."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import and_, delete, func, or_, select

from headrace.database.rows import insert_rows
from headrace.ledger.records.owners import is_among
from headrace.ledger.tables import ATTEMPTS
from headrace.ledger.texts import storable
from headrace.ledger.times import shown_time

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

_PRUNED_AT_A_TIME = 10_000
_REMEMBERED = 256

VERDICTS = ("done", "again", "never", "gone")


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


_COLUMNS = tuple("attempt" if name == "number" else name for name in Attempt._fields)


class Logged(NamedTuple):
    """An attempt in the log; `id` is its own for good."""

    id: int
    attempt: Attempt

    def document(self, *, whole: bool = False) -> dict[str, Any]:
        """Return it as the API shows it: in a list without what the sink answered, else with all that is known."""
        attempt = self.attempt
        members: dict[str, Any] = {
            "id": self.id,
            "subscription": attempt.subscription,
            "position": attempt.position,
            "replay": attempt.replay or None,
            "stage": attempt.stage,
            "attempt": attempt.number,
            "time": shown_time(attempt.time),
            "seconds": round(attempt.seconds, 6),
            "verdict": attempt.verdict,
            "status": attempt.status,
            "reason": attempt.reason or None,
        }
        if whole:
            members |= {"headers": [list(each) for each in attempt.headers], **shown_body(attempt.body)}
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class AttemptQuery:
    """Which attempts; what is None makes no difference. `before` is the time and id of the last one seen."""

    subscriptions: Sequence[str] | None = None
    namespaces: Collection[str] | None = None
    verdict: str | None = None
    statuses: tuple[int, int] | None = None
    stage: str | None = None
    position: int | None = None
    since: float | None = None
    until: float | None = None
    before: tuple[float, int] | None = None
    limit: int = 100

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield what a row has to meet."""
        table = ATTEMPTS.c
        if self.subscriptions is not None:
            yield table.subscription.in_(list(self.subscriptions))
        if self.namespaces is not None:
            yield is_among(table.subscription, self.namespaces)
        for column, value in (
            (table.verdict, self.verdict), (table.stage, self.stage), (table.position, self.position),
        ):  # fmt: skip
            if value is not None:
                yield column == value
        if self.statuses is not None:
            yield table.status.between(*self.statuses)
        if self.since is not None:
            yield table.time >= self.since
        if self.until is not None:
            yield table.time < self.until
        if self.before is not None:
            time, number = self.before
            yield or_(table.time < time, and_(table.time == time, table.number < number))


def write(connection: Connection, attempts: Sequence[Attempt]) -> None:
    """Add attempts to the log, in the transaction of the connection."""
    insert_rows(connection, ATTEMPTS, _COLUMNS, [_row(each) for each in attempts])


def find(connection: Connection, query: AttemptQuery) -> list[Logged]:
    """Return attempts, the newest first."""
    newest_first = (
        select(ATTEMPTS)
        .where(*query.conditions())
        .order_by(ATTEMPTS.c.time.desc(), ATTEMPTS.c.number.desc())
        .limit(query.limit)
    )
    return [_logged(row) for row in connection.execute(newest_first)]


def get(connection: Connection, number: int) -> Logged | None:
    """Return one attempt; None where there is none, or none any more."""
    row = connection.execute(select(ATTEMPTS).where(ATTEMPTS.c.number == number)).first()
    return None if row is None else _logged(row)


def prune(connection: Connection, before: float, most: int) -> int:
    """Forget attempts that are older than a time or too many, so much as one commit should; return how many."""
    newest = connection.execute(select(func.max(ATTEMPTS.c.number))).scalar()
    if newest is None:
        return 0
    gone = (
        select(ATTEMPTS.c.number)
        .where(or_(ATTEMPTS.c.time < before, ATTEMPTS.c.number <= newest - most))
        .limit(_PRUNED_AT_A_TIME)
    )
    return connection.execute(delete(ATTEMPTS).where(ATTEMPTS.c.number.in_(gone))).rowcount


def shown_body(body: bytes) -> dict[str, str]:
    """Return the start of an answer as text, or as base64 where it is none."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError as error:
        if error.start >= len(body) - 3 and error.reason == "unexpected end of data":
            return {"body": body[: error.start].decode()}  # the cut went through a character
        return {"bodyBase64": b64encode(body).decode()}


def _row(attempt: Attempt) -> tuple[Any, ...]:
    *members, reason, headers, body = attempt
    return (*members, storable(reason) if reason else "", _headers_text(headers), body)


@lru_cache(_REMEMBERED)
def _headers_text(headers: tuple[tuple[str, str], ...]) -> str:
    """Write headers as JSON. Answers of one sink mostly have the same ones, as long as their date is the same."""
    return msgspec.json.encode([(storable(name), storable(value)) for name, value in headers]).decode()


def _logged(row: Row[Any]) -> Logged:
    headers = tuple((name, value) for name, value in msgspec.json.decode(row.headers))
    attempt = Attempt(
        row.subscription, row.position, row.replay, row.stage, row.attempt, row.time, row.seconds, row.verdict,
        row.status, row.reason, headers, bytes(row.body),
    )  # fmt: skip
    return Logged(row.number, attempt)
