"""The HTTP handlers of a deployment, together in one process or each in its own."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from headrace.api.access.owners import SubscriptionOwners
from headrace.api.app import build_app
from headrace.api.handlers.access import AccessHandler
from headrace.api.handlers.attempts import AttemptsHandler
from headrace.api.handlers.bulk import BulkHandler
from headrace.api.handlers.channels import ChannelsHandler
from headrace.api.handlers.consents import ConsentsHandler
from headrace.api.handlers.discovery import DiscoveryHandler
from headrace.api.handlers.filters import FiltersHandler
from headrace.api.handlers.health import HealthHandler, MetricsHandler
from headrace.api.handlers.history import HistoryHandler
from headrace.api.handlers.interest import InterestHandler
from headrace.api.handlers.probes import ProbesHandler
from headrace.api.handlers.pull import PullHandler
from headrace.api.handlers.subscriptions import SubscriptionsHandler
from headrace.api.ingress.channels import KnownChannels
from headrace.api.ingress.ingress import Ingress
from headrace.api.ingress.pressure import Pressure
from headrace.api.ingress.rates import Rates
from headrace.api.pull.messages import MessageSource
from headrace.api.pull.notifier import MailboxNotifier
from headrace.api.requests.hosts import hosts_of
from headrace.api.requests.proxies import Proxies
from headrace.api.subscriptions.status import Statuses
from headrace.auth.exposure import check_exposure
from headrace.controlplane.deployment import Deployment
from headrace.controlplane.handler import ObjectsHandler
from headrace.controlplane.plane import ControlPlane
from headrace.controlplane.registry import Registry
from headrace.delivery.attempt.specs import default_spec
from headrace.errors import HeadraceError
from headrace.eventlog.location import open_log
from headrace.eventlog.lookup import EventLookup
from headrace.filters.syntax.parser import parsing_elsewhere
from headrace.interest import Interests
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.pull.events import Sources
from headrace.ledger.pull.leases import MessageLeases
from headrace.ledger.records.records import Records
from headrace.service.http.gate import keep_running, make_gate, open_access_stores
from headrace.service.http.resources import resource_finders
from headrace.service.http.server import listen, serve
from headrace.service.processes.heartbeats import role_statuses
from headrace.service.storage.databases import open_databases
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import log_location, open_log_writer, report_space_again
from headrace.service.storage.secrets import open_secret_store
from headrace.subscriptions.store.store import Store
from headrace.telemetry.event_loop import report_turns
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from headrace.api.access.gate import Gate
    from headrace.config import Config
    from headrace.events.positions import LogPosition
    from headrace.service.http.gate import AccessStores
    from headrace.service.storage.databases import Databases
    from headrace.subscriptions.store.secrets import SecretStore

_log = logging.getLogger(__name__)
_FOLLOW_SECONDS = 1.0
_LOOK_SECONDS = 0.5


def run_http(config: Config, *, ingress: bool, control: bool) -> None:
    """Serve the ingress, the control API or both until told to stop; finish what was accepted."""
    check_exposure(config.api.host, config.auth)
    Proxies(config.api.trusted_proxies)  # what can't be used is refused before anything is opened
    listener = listen(config.api)
    with parsing_elsewhere():
        uvloop.run(_serve(config, listener, ingress=ingress, control=control))


async def _serve(config: Config, listener: socket.socket, *, ingress: bool, control: bool) -> None:
    layout = Layout(config.data)
    async with AsyncExitStack() as opened:
        databases = opened.enter_context(open_databases(config, config.store.patience_seconds))
        store = Store(databases.store, config.quotas)
        keep_running(opened, report_turns())
        channels = KnownChannels(store)
        # Without the store events are taken in all the same; the control API can't answer.
        keep_running(opened, channels.follow(_FOLLOW_SECONDS, HEALTH.blocked if control else HEALTH.degraded))
        access = open_access_stores(databases.store)
        stores = _open_stores(config, databases) if control else None
        finders = (
            None if stores is None else resource_finders(store, access.keys, stores.jobs, stores.records)
        )
        gate = make_gate(config, access, finders, opened)
        taking, end_of_log = (
            _open_log(config, databases, channels, gate, access, opened) if ingress else (None, None)
        )
        handlers: list[object] = [HealthHandler(lambda: role_statuses(layout.run, config.roles))]
        if config.api.metrics:
            handlers.append(MetricsHandler())
        address = config.api.address_at(listener.getsockname()[1])
        pull = None
        if stores is not None:
            end_of_log = end_of_log or open_log(log_location(config)).end
            owners = SubscriptionOwners(store, stores.records)
            keep_running(opened, owners.follow(_FOLLOW_SECONDS))
            handlers += _control(config, store, channels, end_of_log, stores, owners, opened, address)
            pull = _pull_handler(config, store, stores, MessageLeases(databases.ledger))
            handlers.append(pull)
            handlers.append(AccessHandler(access.keys, access.quotas, access.audit, config.quotas))
            handlers.append(
                _control_plane(
                    config,
                    store,
                    Registry(databases.store),
                    channels,
                    end_of_log,
                    opened,
                    address,
                )
            )
        app = build_app(
            taking,
            *handlers,
            gate=gate,
            hosts=hosts_of(config.api, auth=config.auth.is_on),
            proxies=Proxies(config.api.trusted_proxies),
            max_document_bytes=config.api.max_document_bytes,
        )
        on_stop = pull.close if pull else lambda: None
        await serve(app, listener, config.api, HEALTH.started, on_stop)


def _open_log(
    config: Config,
    databases: Databases,
    channels: KnownChannels,
    gate: Gate,
    access: AccessStores,
    opened: AsyncExitStack,
) -> tuple[Ingress, Callable[[], LogPosition]]:
    log = open_log_writer(config, databases)
    opened.push_async_callback(log.writer.close)
    pressure = Pressure(log.gauges, config.api)
    keep_running(opened, pressure.follow(_LOOK_SECONDS))
    if config.log.kind == "local":
        keep_running(opened, report_space_again(Layout(config.data).log))
    rates = Rates(config.quotas, access.quotas.all())
    keep_running(opened, rates.follow(access.quotas, _FOLLOW_SECONDS))
    return Ingress(log.writer, channels, pressure, config.api, gate, rates), log.end


class _Stores(NamedTuple):
    """What the control API works on besides the store."""

    jobs: Jobs
    secret_store: SecretStore
    records: Records


def _open_stores(config: Config, databases: Databases) -> _Stores:
    secret_store = open_secret_store(config.store, databases.store)
    return _Stores(Jobs(databases.store), secret_store, Records(databases.ledger))


def _control(
    config: Config,
    store: Store,
    channels: KnownChannels,
    end_of_log: Callable[[], LogPosition],
    stores: _Stores,
    owners: SubscriptionOwners,
    opened: AsyncExitStack,
    address: str,
) -> list[object]:
    jobs, secret_store, records = stores
    interests = Interests(store, config.interest)
    opened.callback(interests.close)
    return [
        SubscriptionsHandler(
            store, end_of_log, secret_store, Statuses(store, secret_store, records, end_of_log)
        ),
        BulkHandler(store, end_of_log, secret_store, config.api),
        ChannelsHandler(store, channels, address),
        FiltersHandler(),
        DiscoveryHandler(store, config.api, address),
        HistoryHandler(store, jobs, Replays(jobs)),
        AttemptsHandler(store, records, open_log(log_location(config)), owners),
        ProbesHandler(store, records, default_spec(config.delivery)),
        InterestHandler(interests, channels, config.interest),
        ConsentsHandler(records),
    ]


def _pull_handler(config: Config, store: Store, stores: _Stores, leases: MessageLeases) -> PullHandler:
    sources = Sources(EventLookup(open_log(log_location(config))), Replays(stores.jobs).active_at)
    messages = MessageSource(leases, store, sources, default_spec(config.delivery))
    return PullHandler(store, leases, messages, MailboxNotifier(leases))


def _control_plane(
    config: Config,
    store: Store,
    registry: Registry,
    channels: KnownChannels,
    end_of_log: Callable[[], LogPosition],
    opened: AsyncExitStack,
    address: str,
) -> ObjectsHandler:
    plane = ControlPlane(Deployment(store, registry, end_of_log, address))
    keep_running(opened, _repair(plane))
    return ObjectsHandler(plane, channels.refresh, config.api.max_manifest_bytes)


async def _repair(plane: ControlPlane) -> None:
    """Finish what a process left that died; requests are served meanwhile."""
    try:
        if count := await asyncio.to_thread(plane.repair):
            _log.info("%d objects were left unsettled and are settled now", count)
    except HeadraceError as error:
        _log.warning("objects that were left unsettled stay so until they are applied again: %s", error)
