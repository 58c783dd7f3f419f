"""The HTTP doors of a deployment, together in one process or each in its own."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from headrace.api.app import build_app
from headrace.api.arrivals import Arrivals
from headrace.api.attempts import Attempts
from headrace.api.authority import Authority
from headrace.api.bulk import Bulk
from headrace.api.channels import KnownChannels
from headrace.api.consents import Consents
from headrace.api.discovery import Discovery
from headrace.api.filters import Filters
from headrace.api.handing import Handing
from headrace.api.health import Health
from headrace.api.hosts import hosts_of
from headrace.api.ingress import Ingress
from headrace.api.interest import InterestDoor
from headrace.api.management import Management
from headrace.api.owning import Owning
from headrace.api.pressure import Pressure
from headrace.api.probing import Probing
from headrace.api.proxies import Proxies
from headrace.api.pulling import Pulling
from headrace.api.rates import Rates
from headrace.api.subscription_status import Statuses
from headrace.api.subscriptions import Subscriptions
from headrace.api.travel import Travel
from headrace.auth.exposure import check_exposure
from headrace.controlplane.deployment import Deployment
from headrace.controlplane.door import ControlDoor
from headrace.controlplane.plane import ControlPlane
from headrace.controlplane.registry import Registry
from headrace.delivery.specs import default_spec
from headrace.errors import HeadraceError
from headrace.eventlog.opening import open_log
from headrace.eventlog.picking import Picker
from headrace.filters.syntax.parser import parsing_elsewhere
from headrace.interest import Interests
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.letters import Sources
from headrace.ledger.mailroom import Mailroom
from headrace.ledger.records import Records
from headrace.service.gates import beside, make_gate, open_keeping
from headrace.service.heartbeats import standings
from headrace.service.layout import Layout
from headrace.service.logs import log_place, open_log_writer, report_room_again
from headrace.service.secrets import open_safe
from headrace.service.serving import listen, serve
from headrace.service.things import things_of
from headrace.subscriptions.store import Store
from headrace.telemetry.event_loop import report_turns
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from headrace.api.app import Door
    from headrace.api.gate import Gate
    from headrace.config import Config
    from headrace.events.positions import Cut
    from headrace.service.gates import Keeping
    from headrace.subscriptions.safe import Safe

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
    safe: Safe
    records: Records


def _open_databases(config: Config, opened: AsyncExitStack) -> _Databases:
    patience = config.store.patience_seconds
    databases = _Databases(
        Jobs(config.store.url, patience),
        open_safe(config.store, patience),
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
    jobs, safe, records = databases
    interests = Interests(store, config.interest)
    opened.callback(interests.close)
    return [
        Subscriptions(store, end_of_log, jobs, safe, Statuses(store, safe, records, end_of_log)),
        Bulk(store, end_of_log, jobs, safe, config.api),
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
