"""What was given up and is kept, with its event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import and_, or_, select

from headrace.ledger.records.owners import is_among
from headrace.ledger.tables import DEAD
from headrace.ledger.times import shown_time

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection


class DeadLetter(NamedTuple):
    """A delivery that was given up at a stage; `event` is structured JSON, and empty where it could not be read."""

    subscription: str
    stage: str
    replay: str
    position: int
    attempts: int
    time: float
    reason: str
    event: bytes

    @property
    def place(self) -> tuple[float, str, str, str, int]:
        """Where it stands in the list of all, which the next page begins behind."""
        return self.time, self.subscription, self.stage, self.replay, self.position

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it, the event as it was."""
        shown = self._asdict() | {"time": shown_time(self.time), "replay": self.replay or None}
        shown["event"] = msgspec.Raw(self.event) if self.event else None
        return {name: value for name, value in shown.items() if value is not None}


@dataclass(frozen=True, slots=True)
class DeadQuery:
    """Which dead letters; what is None makes no difference. `after` is the place of the last one seen."""

    subscriptions: Sequence[str] | None = None
    namespaces: Collection[str] | None = None
    since: float | None = None
    until: float | None = None
    after: Sequence[Any] | None = None
    limit: int = 100

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield what a row has to meet."""
        if self.subscriptions is not None:
            yield DEAD.c.subscription.in_(list(self.subscriptions))
        if self.namespaces is not None:
            yield is_among(DEAD.c.subscription, self.namespaces)
        if self.since is not None:
            yield DEAD.c.time >= self.since
        if self.until is not None:
            yield DEAD.c.time < self.until
        if self.after is not None:
            yield _behind(*self.after)


def find(connection: Connection, query: DeadQuery) -> list[DeadLetter]:
    """Return dead letters, those first that were given up last."""
    columns = [DEAD.c[name] for name in DeadLetter._fields]
    newest_first = (
        select(*columns)
        .where(*query.conditions())
        .order_by(DEAD.c.time.desc(), DEAD.c.subscription, DEAD.c.stage, DEAD.c.replay, DEAD.c.position)
        .limit(query.limit)
    )
    return [DeadLetter(*row) for row in connection.execute(newest_first)]


def _behind(time: float, *key: Any) -> ColumnElement[bool]:
    columns = [DEAD.c[name] for name in ("subscription", "stage", "replay", "position")]
    later = [
        and_(*(columns[i] == key[i] for i in range(depth)), columns[depth] > key[depth])
        for depth in range(len(columns))
    ]
    return or_(DEAD.c.time < time, and_(DEAD.c.time == time, or_(*later)))
