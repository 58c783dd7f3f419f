"""The role that delivers events, and removes what is no longer needed."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import uvloop

from headrace.database.patience import outlast_full_disks
from headrace.service.processes.descriptors import grow_descriptor_table
from headrace.service.upkeep.dispatcher import drain_all, drain_shares
from headrace.telemetry.event_loop import report_turns
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from headrace.config import Config


def run(config: Config) -> None:
    """Deliver until told to stop; let attempts under way finish."""
    grow_descriptor_table()
    uvloop.run(_deliver(config))


async def _deliver(config: Config) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    outlast_full_disks(stop.is_set)
    turning = asyncio.create_task(report_turns())
    try:
        if config.log.kind == "local":
            await drain_all(config, stop, HEALTH.started)
        else:
            await drain_shares(config, stop, HEALTH.started)
    finally:
        turning.cancel()
