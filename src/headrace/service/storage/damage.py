"""Record in the store which positions of the log can't be read, before continuing without them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.subscriptions.store.set_aside import Kind, SetAside
from headrace.subscriptions.store.store import Store
from headrace.telemetry.metrics import SET_ASIDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.database.database import Database
    from headrace.eventlog.damage import Damage

_log = logging.getLogger(__name__)


def setting_aside(database: Database) -> Callable[[Damage], None]:
    """Return a function that sets damage aside. Reporting the same damage twice changes nothing."""

    def set_aside(damage: Damage) -> None:
        record = SetAside(Kind.DAMAGE, damage.start, damage.end, damage.reason())
        Store(database).set_aside([record])
        SET_ASIDE.labels(record.kind).inc(record.count)
        _log.error("set aside %s at position %d: %s", record.kind, record.position, record.reason)

    return set_aside
