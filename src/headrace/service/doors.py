"""The HTTP doors of a deployment, together in one process or each in its own."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import uvloop

from headrace.api.app import build_app
from headrace.api.attempts import Attempts
from headrace.api.channels import KnownChannels
from headrace.api.health import Health
from headrace.api.ingress import Ingress
from headrace.api.management import Management
from headrace.api.pressure import Pressure
from headrace.api.probing import Probing
from headrace.api.travel import Travel
from headrace.delivery.specs import default_spec
from headrace.eventlog.opening import open_log
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.records import Records
from headrace.service.layout import Layout
from headrace.service.logs import log_place, open_log_writer
from headrace.service.secrets import open_safe
from headrace.service.serving import listen, serve
from headrace.service.states import READY, announce, read_states
from headrace.subscriptions.store import Store

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine

    from headrace.api.app import Door
    from headrace.config import Config
    from headrace.events.positions import Cut

_FOLLOW_SECONDS = 1.0
_LOOK_SECONDS = 0.5


def run_doors(role: str, config: Config, *, ingress: bool, control: bool) -> None:
    """Serve these doors until told to stop; finish what was accepted."""
    listener = listen(config.api)
    uvloop.run(_serve(role, config, listener, ingress=ingress, control=control))


async def _serve(role: str, config: Config, listener: socket.socket, *, ingress: bool, control: bool) -> None:
    layout = Layout(config.data)
    async with AsyncExitStack() as opened:
        store = Store(config.store.url, config.store.patience_seconds)
        opened.callback(store.close)
        channels = KnownChannels(store)
        _beside(opened, channels.follow(_FOLLOW_SECONDS))
        taking, end_of_log = _open_log(config, channels, opened) if ingress else (None, None)
        doors: list[Door] = [
            Health(lambda: read_states(layout.run, config.roles), metrics=config.api.metrics)
        ]
        if control:
            end_of_log = end_of_log or open_log(log_place(config)).end
            doors += _control(config, store, channels, end_of_log, opened)
        app = build_app(taking, *doors)
        await serve(app, listener, config.api, lambda: announce(layout.run, role, READY))


def _open_log(
    config: Config, channels: KnownChannels, opened: AsyncExitStack
) -> tuple[Ingress, Callable[[], Cut]]:
    log = open_log_writer(config)
    opened.push_async_callback(log.writer.close)
    pressure = Pressure(log.gauges, config.api)
    _beside(opened, pressure.follow(_LOOK_SECONDS))
    return Ingress(log.writer, channels, pressure, config.api), log.end


def _control(
    config: Config,
    store: Store,
    channels: KnownChannels,
    end_of_log: Callable[[], Cut],
    opened: AsyncExitStack,
) -> list[Door]:
    jobs = Jobs(config.store.url, config.store.patience_seconds)
    opened.callback(jobs.close)
    safe = open_safe(config.store, config.store.patience_seconds)
    opened.callback(safe.close)
    records = Records(config.delivery.url, config.store.patience_seconds)
    opened.callback(records.close)
    return [
        Management(store, channels, end_of_log, jobs, safe, records),
        Travel(store, jobs, Replays(jobs)),
        Attempts(store, records, open_log(log_place(config))),
        Probing(store, records, default_spec(config.delivery)),
    ]


def _beside(opened: AsyncExitStack, follow: Coroutine[None, None, None]) -> None:
    """Follow something for as long as the doors are open."""
    opened.callback(asyncio.create_task(follow).cancel)
