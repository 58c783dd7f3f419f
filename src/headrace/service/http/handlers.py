"""The HTTP doors of a deployment, together in one process or each in its own."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from headrace.api.access.owners import Owning
from headrace.api.app import build_app
from headrace.api.handlers.access import Authority
from headrace.api.handlers.attempts import Attempts
from headrace.api.handlers.bulk import Bulk
from headrace.api.handlers.channels import Management
from headrace.api.handlers.consents import Consents
from headrace.api.handlers.discovery import Discovery
from headrace.api.handlers.filters import Filters
from headrace.api.handlers.health import Health
from headrace.api.handlers.history import Travel
from headrace.api.handlers.ingress import Ingress
from headrace.api.handlers.interest import InterestDoor
from headrace.api.handlers.probes import Probing
from headrace.api.handlers.pull import Pulling
from headrace.api.handlers.subscriptions import Subscriptions
from headrace.api.ingress.channels import KnownChannels
from headrace.api.ingress.pressure import Pressure
from headrace.api.ingress.rates import Rates
from headrace.api.pull.arrivals import Arrivals
from headrace.api.pull.messages import Handing
from headrace.api.requests.hosts import hosts_of
from headrace.api.requests.proxies import Proxies
from headrace.api.subscriptions.status import Statuses
from headrace.auth.exposure import check_exposure
from headrace.controlplane.deployment import Deployment
from headrace.controlplane.handler import ControlDoor
from headrace.controlplane.plane import ControlPlane
from headrace.controlplane.registry import Registry
from headrace.delivery.attempt.specs import default_spec
from headrace.errors import HeadraceError
from headrace.eventlog.location import open_log
from headrace.eventlog.picker import Picker
from headrace.filters.syntax.parser import parsing_elsewhere
from headrace.interest import Interests
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.pull.consumers import Mailroom
from headrace.ledger.pull.events import Sources
from headrace.ledger.records.records import Records
from headrace.service.http.gate import beside, make_gate, open_keeping
from headrace.service.http.resources import things_of
from headrace.service.http.server import listen, serve
from headrace.service.processes.heartbeats import standings
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import log_place, open_log_writer, report_room_again
from headrace.service.storage.secrets import open_secret_store
from headrace.subscriptions.store.store import Store
from headrace.telemetry.event_loop import report_turns
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from headrace.api.access.gate import Gate
    from headrace.api.app import Door
    from headrace.config import Config
    from headrace.events.positions import Cut
    from headrace.service.http.gate import Keeping
    from headrace.subscriptions.store.secrets import SecretStore

_log = logging.getLogger(__name__)
_FOLLOW_SECONDS = 1.0
_LOOK_SECONDS = 0.5


def run_doors(config: Config, *, ingress: bool, control: bool) -> None:
    """Serve these doors until told to stop; finish what was accepted."""
    check_exposure(config.api.host, config.auth)
    Proxies(config.api.trusted_proxies)  # what can't be used is refused before anything is opened
    listener = listen(config.api)
    with parsing_elsewhere():
        uvloop.run(_serve(config, listener, ingress=ingress, control=control))


async def _serve(config: Config, listener: socket.socket, *, ingress: bool, control: bool) -> None:
    layout = Layout(config.data)
    async with AsyncExitStack() as opened:
        store = Store(config.store.url, config.store.patience_seconds, config.quotas)
        opened.callback(store.close)
        beside(opened, report_turns())
        channels = KnownChannels(store)
        # Without the store events are taken in all the same; the control API can't answer.
        beside(opened, channels.follow(_FOLLOW_SECONDS, HEALTH.blocked if control else HEALTH.degraded))
        keeping = open_keeping(config, opened)
        databases = _open_databases(config, opened) if control else None
        things = (
            None if databases is None else things_of(store, keeping.keys, databases.jobs, databases.records)
        )
        gate = make_gate(config, keeping, things, opened)
        taking, end_of_log = _open_log(config, channels, gate, keeping, opened) if ingress else (None, None)
        doors: list[Door] = [Health(lambda: standings(layout.run, config.roles), metrics=config.api.metrics)]
        address = config.api.address_at(listener.getsockname()[1])
        pulling = None
        if databases is not None:
            end_of_log = end_of_log or open_log(log_place(config)).end
            owning = Owning(store, databases.records)
            beside(opened, owning.follow(_FOLLOW_SECONDS))
            doors += _control(config, store, channels, end_of_log, databases, owning, opened, address)
            pulling = _pulling(config, store, databases, opened)
            doors.append(pulling)
            doors.append(Authority(keeping.keys, keeping.quotas, keeping.audit, config.quotas))
            doors.append(
                _control_plane(
                    config,
                    store,
                    channels,
                    end_of_log,
                    opened,
                    address,
                )
            )
        app = build_app(
            taking,
            *doors,
            gate=gate,
            hosts=hosts_of(config.api, auth=config.auth.is_on),
            proxies=Proxies(config.api.trusted_proxies),
            max_document_bytes=config.api.max_document_bytes,
        )
        on_stop = pulling.close if pulling else lambda: None
        await serve(app, listener, config.api, HEALTH.started, on_stop)


def _open_log(
    config: Config, channels: KnownChannels, gate: Gate, keeping: Keeping, opened: AsyncExitStack
) -> tuple[Ingress, Callable[[], Cut]]:
    log = open_log_writer(config)
    opened.callback(log.close)
    opened.push_async_callback(log.writer.close)
    pressure = Pressure(log.gauges, config.api)
    beside(opened, pressure.follow(_LOOK_SECONDS))
    if config.log.kind == "local":
        beside(opened, report_room_again(Layout(config.data).log))
    rates = Rates(config.quotas, keeping.quotas.all())
    beside(opened, rates.follow(keeping.quotas, _FOLLOW_SECONDS))
    return Ingress(log.writer, channels, pressure, config.api, gate, rates), log.end


class _Databases(NamedTuple):
    """What the control API works on besides the store."""

    jobs: Jobs
    secret_store: SecretStore
    records: Records


def _open_databases(config: Config, opened: AsyncExitStack) -> _Databases:
    patience = config.store.patience_seconds
    databases = _Databases(
        Jobs(config.store.url, patience),
        open_secret_store(config.store, patience),
        Records(config.delivery.url, patience),
    )
    for each in databases:
        opened.callback(each.close)
    return databases


def _control(
    config: Config,
    store: Store,
    channels: KnownChannels,
    end_of_log: Callable[[], Cut],
    databases: _Databases,
    owning: Owning,
    opened: AsyncExitStack,
    address: str,
) -> list[Door]:
    jobs, secret_store, records = databases
    interests = Interests(store, config.interest)
    opened.callback(interests.close)
    return [
        Subscriptions(
            store, end_of_log, jobs, secret_store, Statuses(store, secret_store, records, end_of_log)
        ),
        Bulk(store, end_of_log, jobs, secret_store, config.api),
        Management(store, channels, address),
        Filters(),
        Discovery(store, config.api, address),
        Travel(store, jobs, Replays(jobs)),
        Attempts(store, records, open_log(log_place(config)), owning),
        Probing(store, records, default_spec(config.delivery)),
        InterestDoor(interests, channels, config.interest),
        Consents(records),
    ]


def _pulling(config: Config, store: Store, databases: _Databases, opened: AsyncExitStack) -> Pulling:
    mailroom = Mailroom(config.delivery.url, config.store.patience_seconds)
    opened.callback(mailroom.close)
    sources = Sources(Picker(open_log(log_place(config))), Replays(databases.jobs).active_at)
    handing = Handing(mailroom, store, sources, default_spec(config.delivery))
    return Pulling(store, mailroom, handing, Arrivals(mailroom))


def _control_plane(
    config: Config,
    store: Store,
    channels: KnownChannels,
    end_of_log: Callable[[], Cut],
    opened: AsyncExitStack,
    address: str,
) -> Door:
    registry = Registry(config.store.url, config.store.patience_seconds)
    opened.callback(registry.close)
    plane = ControlPlane(Deployment(store, registry, end_of_log, address))
    beside(opened, _repair(plane))
    return ControlDoor(plane, channels.refresh, config.api.max_manifest_bytes)


async def _repair(plane: ControlPlane) -> None:
    """Finish what a process left that died; the doors are open meanwhile."""
    try:
        if count := await asyncio.to_thread(plane.repair):
            _log.info("%d objects were left unsettled and are settled now", count)
    except HeadraceError as error:
        _log.warning("objects that were left unsettled stay so until they are applied again: %s", error)
