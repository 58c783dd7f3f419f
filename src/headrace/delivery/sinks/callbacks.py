"""The address by which a web hook may agree to deliveries later, and whether it has."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from headrace.ledger.records.consents import PATH

if TYPE_CHECKING:
    from headrace.ledger.records.records import Records


class Callback(NamedTuple):
    """`address` is a secret between us and the sink. `granted` is when it agreed, in seconds since the epoch."""

    address: str
    granted: float | None
    rate: int | None


class Callbacks:
    """`base` is where sinks reach the API. For one event loop; the ledger is asked in threads."""

    def __init__(self, records: Records, base: str) -> None:
        self._records = records
        self._base = base.rstrip("/")

    async def look(self, sink: str, origin: str, rate: int | None) -> Callback:
        """Return the address that a sink is told, the same each time, and whether it has called."""
        asked = await asyncio.to_thread(self._records.ask_consent, sink, origin, rate)
        return Callback(f"{self._base}{PATH.format(token=asked.token)}", asked.granted, asked.rate)
