"""What is asked of the ledger besides deliveries: the log of attempts, dead letters, status, redrives and test-sends.

The API reads and asks here; the dispatcher does what was asked, and clears away what is old.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from headrace.database.patience import once, repeatable
from headrace.errors import NotFound
from headrace.ledger.records import attempts, consents, dead_letters, owners, probes, status
from headrace.ledger.records.probes import Probes
from headrace.ledger.redrives import redrives
from headrace.ledger.redrives import selection as moving
from headrace.ledger.redrives.redrives import Redrives
from headrace.ledger.tables import FAMILY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy import Connection

    from headrace.database.database import Database
    from headrace.events.positions import LogPosition
    from headrace.ledger.records.attempts import AttemptQuery, Logged
    from headrace.ledger.records.consents import Asked
    from headrace.ledger.records.dead_letters import DeadLetter, DeadQuery
    from headrace.ledger.records.status import DeliveryReport, DeliveryStatus
    from headrace.ledger.redrives.selection import Selection

_ANSWERED_WITHIN = 600.0
_CONSENTS_KEPT = 90 * 86_400.0
_Result = TypeVar("_Result")


class Records:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.bring_up(FAMILY)
        self.redrives = Redrives(database)
        self.probes = Probes(database)

    # How deliveries fare

    @repeatable
    def statuses(self, among: Sequence[str] | None = None) -> dict[str, DeliveryStatus]:
        """Return what is known, by subscription: of all of which anything is known, or of some."""
        with self.database.reading() as connection:
            return status.read(connection, among)

    @repeatable
    def fares(self, among: Sequence[str]) -> tuple[LogPosition, dict[str, DeliveryStatus]]:
        """Return the cut before which every delivery was made, waits, or lies with the dead; and what is known of some.

        It is one visit to the database: to go there takes longer than what is asked there.
        """
        with self.database.reading() as connection:
            return status.settled(connection), status.read(connection, among)

    @repeatable
    def report(self, reports: Sequence[DeliveryReport]) -> None:
        """Write down how deliveries fare."""
        with self.database.writing() as connection:
            status.write(connection, reports)

    # Whose it is

    @repeatable
    def note_owners(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Write down the namespaces of subscriptions."""
        with self.database.writing() as connection:
            owners.note(connection, pairs)

    @repeatable
    def owner(self, subscription: str) -> str | None:
        """Return whose a subscription is, or was; None where nobody knows."""
        with self.database.reading() as connection:
            return owners.namespace_of(connection, subscription)

    @repeatable
    def known_owners(self) -> set[str]:
        """Return the subscriptions of which it is known whose they are."""
        with self.database.reading() as connection:
            return owners.all_of(connection)

    @repeatable
    def forget_owners(self, gone: Collection[str]) -> None:
        """Forget subscriptions that are gone, once nothing is left of them."""
        with self.database.writing() as connection:
            owners.forget(connection, gone)

    # What was tried, and what was given up

    @repeatable
    def attempts(self, query: AttemptQuery) -> list[Logged]:
        """Return attempts, the newest first."""
        with self.database.reading() as connection:
            return attempts.find(connection, query)

    @repeatable
    def attempt(self, number: int) -> Logged:
        """Return one attempt, or raise NotFound."""
        with self.database.reading() as connection:
            found = attempts.get(connection, number)
        if found is None:
            raise NotFound("attempt", str(number))
        return found

    @repeatable
    def dead_letters(self, query: DeadQuery) -> list[DeadLetter]:
        """Return dead letters, those first that were given up last."""
        with self.database.reading() as connection:
            return dead_letters.find(connection, query)

    # Redrives

    @repeatable
    def count(self, selection: Selection) -> int:
        """Count what a redrive would move."""
        with self.database.reading() as connection:
            return moving.count(connection, selection)

    def read(self, action: Callable[[Connection], _Result]) -> _Result:
        """Do something that only reads."""
        with self.database.reading() as connection:
            return action(connection)

    @once
    def write(self, action: Callable[[Connection], _Result]) -> _Result:
        """Do something in one transaction."""
        with self.database.writing() as connection:
            return action(connection)

    # Consent of web hooks

    @repeatable
    def ask_consent(self, sink: str, origin: str, rate: int | None) -> Asked:
        """Write down that a web hook is asked, and return what it was told and has said."""
        with self.database.writing() as connection:
            return consents.ask(connection, sink, origin, rate)

    @repeatable
    def grant_consent(self, token: str, rate: int | None) -> bool:
        """Take note that a web hook agreed; False where nobody was told this token."""
        with self.database.writing() as connection:
            return consents.grant(connection, token, rate)

    # Clearing away

    @repeatable
    def clear(self, retention_seconds: float, most_attempts: int, gone: Sequence[str] = ()) -> int:
        """Forget attempts and redrives that are too old or too many, and the status of subscriptions that are gone."""
        before = time.time() - retention_seconds
        with self.database.writing() as connection:
            status.forget(connection, gone)
            probes.prune(connection, time.time() - _ANSWERED_WITHIN)
            consents.prune(connection, time.time() - _CONSENTS_KEPT)
            forgotten = redrives.prune(connection, before)
        while some := self._prune(before, most_attempts):
            forgotten += some
        return forgotten

    def _prune(self, before: float, most: int) -> int:
        with self.database.writing() as connection:
            return attempts.prune(connection, before, most)
