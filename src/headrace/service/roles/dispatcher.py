"""The role that delivers, and that clears away what nobody needs any more."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import uvloop

from headrace.service.descriptors import make_room
from headrace.service.draining import drain_all, drain_shares
from headrace.service.layout import Layout
from headrace.service.states import READY, announce

if TYPE_CHECKING:
    from headrace.config import Config

ROLE = "dispatcher"


def run(config: Config) -> None:
    """Deliver until told to stop; let attempts under way finish."""
    make_room()
    uvloop.run(_deliver(config))


async def _deliver(config: Config) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def on_ready() -> None:
        announce(Layout(config.data).run, ROLE, READY)

    if config.log.kind == "local":
        on_ready()
        await drain_all(config, stop)
    else:
        await drain_shares(config, stop, on_ready)
