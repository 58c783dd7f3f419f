"""Test-sends: the API writes one down, a dispatcher takes it, makes one attempt, and writes what came of it.

Nobody else opens connections to sinks, so a test passes the same guards as a delivery. A test that nobody took in time
is forgotten: whoever asked is not there any more.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, select, update

from headrace.database.patience import once, repeatable
from headrace.database.work_queue import WorkQueue
from headrace.ledger.records.attempts import shown_body
from headrace.ledger.tables import PROBES

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


@dataclass(frozen=True, slots=True)
class Probe:
    """One event for one sink, to be sent before the deadline, in seconds since the epoch, or not at all."""

    event: bytes
    deadline: float
    subscription: str | None = None
    proposal: str | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


class ProbeOutcome(msgspec.Struct, frozen=True):
    """What came of it, as in the log of attempts."""

    verdict: str
    seconds: float
    status: int | None
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        shown = {
            "verdict": self.verdict,
            "status": self.status,
            "seconds": round(self.seconds, 6),
            "reason": self.reason or None,
            "headers": [list(each) for each in self.headers],
            **shown_body(self.body),
        }
        return {name: value for name, value in shown.items() if value is not None}


class Probes(WorkQueue[Probe]):
    """The queue of test-sends. One is taken once: whoever takes it and dies has perhaps sent it."""

    table = PROBES
    noun = "test"

    @once
    def take(self, limit: int) -> list[Probe]:
        """Take those that nobody has taken yet and that are still waited for."""
        is_free = PROBES.c.claim.is_(None), PROBES.c.deadline > time.time()
        return [self.from_row(row) for row in self._take(limit, [PROBES.c.deadline], *is_free)]

    @repeatable
    def tell(self, probe_id: str, outcome: ProbeOutcome) -> None:
        """Write down what came of it."""
        text = msgspec.json.encode(outcome).decode()
        with self.database.writing() as connection:
            connection.execute(update(PROBES).where(PROBES.c.id == probe_id).values(outcome=text))

    @repeatable
    def outcome(self, probe_id: str) -> ProbeOutcome | None:
        """Return what came of it; None while nobody knows."""
        query = select(PROBES.c.outcome).where(PROBES.c.id == probe_id)
        with self.database.reading() as connection:
            text = connection.execute(query).scalar()
        return None if text is None else msgspec.json.decode(text, type=ProbeOutcome)

    @repeatable
    def remove(self, probe_id: str) -> None:
        """Forget it: it was answered."""
        with self.database.writing() as connection:
            connection.execute(delete(PROBES).where(PROBES.c.id == probe_id))

    @staticmethod
    def to_row(probe: Probe) -> dict[str, Any]:
        """Return the row of a new test-send."""
        return {
            name: getattr(probe, name) for name in ("id", "subscription", "proposal", "event", "deadline")
        }

    @staticmethod
    def from_row(row: Row[Any]) -> Probe:
        """Read a row."""
        return Probe(bytes(row.event), row.deadline, row.subscription, row.proposal, row.id)


def prune(connection: Connection, deadline_before: float) -> int:
    """Forget probes that nobody waits for any more; return how many."""
    return connection.execute(delete(PROBES).where(PROBES.c.deadline < deadline_before)).rowcount
