"""The HTTP application over a real log and a real store, called directly or served on a socket."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from headrace.api.access.gate import Gate
from headrace.api.access.recorder import Recorder
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
from headrace.api.handlers.openapi import OpenApiHandler
from headrace.api.handlers.probes import ProbesHandler
from headrace.api.handlers.pull import PullHandler
from headrace.api.handlers.subscriptions import SubscriptionsHandler
from headrace.api.ingress.channels import KnownChannels
from headrace.api.ingress.ingress import Ingress
from headrace.api.ingress.pressure import Gauges, Pressure
from headrace.api.ingress.rates import Rates
from headrace.api.pull.messages import MessageSource
from headrace.api.pull.notifier import MailboxNotifier
from headrace.api.requests.hosts import hosts_of
from headrace.api.requests.proxies import Proxies
from headrace.api.routes.route import Route, routes_of
from headrace.api.subscriptions.status import Statuses
from headrace.auth.audit.entries import by_command
from headrace.auth.audit.log import AuditLog
from headrace.auth.authentication import Authentication
from headrace.auth.grants import granted
from headrace.auth.keys.requests import KeyRequest
from headrace.auth.keys.ring import KeyRing
from headrace.auth.keys.store import KeyStore
from headrace.auth.tokens.token import Tokens
from headrace.config import load_config
from headrace.controlplane.deployment import Deployment
from headrace.controlplane.handler import ObjectsHandler
from headrace.controlplane.plane import ControlPlane
from headrace.controlplane.registry import Registry
from headrace.database.database import Database
from headrace.delivery.attempt.specs import default_spec
from headrace.eventlog.local.committer import GroupCommitter
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.eventlog.lookup import EventLookup
from headrace.events.batch import from_batch
from headrace.events.positions import LogPosition
from headrace.events.recorded import Recorded
from headrace.interest import Interests
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.pull.events import Sources
from headrace.ledger.pull.leases import MessageLeases
from headrace.ledger.records.records import Records
from headrace.secrets.keys import KeyFile
from headrace.service.http.resources import resource_finders
from headrace.service.http.server import make_server
from headrace.subscriptions.quotas.quotas import UNLIMITED, Quotas
from headrace.subscriptions.quotas.store import QuotaStore
from headrace.subscriptions.store.secrets import SecretStore
from headrace.subscriptions.store.store import Store
from headrace.telemetry.readiness import RoleState, RoleStatus

V1 = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t"}
STRUCTURED = {"content-type": "application/cloudevents+json"}
BATCHED = {"content-type": "application/cloudevents-batch+json"}
ADDRESS = "http://headrace.example"
CHANNEL = "/channels/default/default"


NO_ANSWER = 0
"""The status of a request that was not answered, because nobody was left to hear it."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Application:
    """One deployment's HTTP side. `backlog` and `roles` are what the rest of it would say."""

    def __init__(
        self,
        folder: Path,
        *,
        metrics: bool = True,
        store_url: str | None = None,
        delivery_url: str | None = None,
        auth: bool = False,
        quotas: Quotas = UNLIMITED,
        **settings: Any,
    ) -> None:
        self.folder = folder
        self.backlog = self.backlog_bytes = self.outbox_bytes = 0
        self.roles = dict.fromkeys(
            ("http", "pipeline", "dispatcher"), RoleStatus(RoleState.READY, did="it works")
        )
        self.writer = SegmentWriter(folder / "log", 1 << 20)
        self.log = GroupCommitter(self.writer, 64 << 20)
        self.delivery_url = delivery_url or f"sqlite:///{folder}/delivery.db"
        url = store_url or f"sqlite:///{folder}/store.db"
        self._databases = database, deliveries = Database(url), Database(self.delivery_url)
        self.store = Store(database, quotas=quotas)
        self.keys, self.quotas, self.audit = (
            KeyStore(database),
            QuotaStore(database),
            AuditLog(database),
        )
        self.channels = KnownChannels(self.store)
        overrides = {f"api.{key}": value for key, value in settings.items()}
        config = load_config(None, overrides, {})
        settings_ = config.api
        gauges = Gauges(lambda: self.backlog, lambda: self.backlog_bytes, lambda: self.outbox_bytes, [folder])
        self.pressure = Pressure(gauges, settings_)
        self.jobs = Jobs(database)
        health = HealthHandler(lambda: self.roles)
        self.secret_store = SecretStore(database, KeyFile(folder / "secrets.key"))
        self.records = Records(deliveries)
        self.ring = KeyRing(self.keys)
        finders = resource_finders(self.store, self.keys, self.jobs, self.records)
        authentication = Authentication(self.ring, Tokens((), 0.0)) if auth else None
        self.gate = gate = Gate(authentication, finders, Recorder(self.audit))
        self.ingress = Ingress(
            self.log, self.channels, self.pressure, settings_, gate, Rates(quotas, self.quotas.all())
        )
        end = lambda: LogPosition.at(self.writer.end)  # noqa: E731
        self.statuses = Statuses(self.store, self.secret_store, self.records, end)
        subscriptions = SubscriptionsHandler(self.store, end, self.secret_store, self.statuses)
        self.replays = Replays(self.jobs)
        self.leases = MessageLeases(deliveries)
        sources = Sources(EventLookup(SegmentReader(folder / "log")), self.replays.active_at)
        defaults = default_spec(load_config(None, {}, {}).delivery)
        messages = MessageSource(self.leases, self.store, sources, defaults)
        self.pull = PullHandler(self.store, self.leases, messages, MailboxNotifier(self.leases))
        self.registry = Registry(database)
        deployment = Deployment(self.store, self.registry, lambda: LogPosition.at(self.writer.end), ADDRESS)
        self.plane = ControlPlane(deployment)
        control = ObjectsHandler(self.plane, self.channels.refresh, settings_.max_manifest_bytes)
        self.interests = Interests(self.store, config.interest)
        self.handlers = (
            health,
            *([MetricsHandler()] if metrics else []),
            subscriptions,
            BulkHandler(self.store, end, self.secret_store, settings_),
            ChannelsHandler(self.store, self.channels, ADDRESS),
            FiltersHandler(),
            DiscoveryHandler(self.store, settings_, ADDRESS),
            HistoryHandler(self.store, self.jobs, self.replays),
            AttemptsHandler(self.store, self.records, SegmentReader(folder / "log")),
            ProbesHandler(self.store, self.records, defaults),
            self.pull,
            AccessHandler(self.keys, self.quotas, self.audit, quotas),
            InterestHandler(self.interests, self.channels, config.interest),
            ConsentsHandler(self.records),
            control,
        )
        self.settings = settings_
        self.app = build_app(
            self.ingress,
            *self.handlers,
            gate=gate,
            hosts=hosts_of(settings_, auth=auth),
            proxies=Proxies(settings_.trusted_proxies),
            max_document_bytes=settings_.max_document_bytes,
        )

    async def close(self) -> None:
        await self.log.close()
        self.interests.close()
        for each in self._databases:
            each.close()

    def routes(self) -> list[Route]:
        """List what is served, the channels' addresses and the description included."""
        served = (self.ingress, *self.handlers, OpenApiHandler([]))
        return [route for handler in served for route, _ in routes_of(handler)]

    async def key(self, **grants: list[str]) -> dict[str, str]:
        """Make a key with these roles by namespace, `everywhere` for all; return the header that shows it."""
        given = {
            "*" if namespace == "everywhere" else namespace: roles for namespace, roles in grants.items()
        }
        key, record = KeyRequest("test", granted(given)).make("test", time.time())
        self.keys.add(record, by_command("test", "key", key.id, None))
        await self.ring.refresh()
        return {"authorization": f"Bearer {key.text}"}

    def recorded(self) -> list[Recorded]:
        """Read the whole log, as another process would."""
        reader = SegmentReader(self.folder / "log")
        return [each for batch in reader.read(0, reader.end()[0]) for each in from_batch(batch)]

    def commits(self) -> int:
        """Count the commits in the log: the reader yields one batch for each."""
        reader = SegmentReader(self.folder / "log")
        return len(list(reader.read(0, reader.end()[0])))

    def ids(self) -> list[str]:
        return [each.event.id for each in self.recorded()]

    async def call(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | Sequence[tuple[str, str]] = (),
        body: bytes | Sequence[bytes] = b"",
        *,
        cut: bool = False,
    ) -> Answer:
        """Call the application; a body in several parts comes as several messages, `cut` loses the last one."""
        items = headers.items() if isinstance(headers, dict) else headers
        raw = [(name.lower().encode(), value.encode()) for name, value in items]
        if not any(name == b"host" for name, _ in raw):
            raw.append((b"host", b"127.0.0.1:8080"))
        parts = [body] if isinstance(body, bytes) else list(body)
        incoming: list[dict[str, Any]] = [
            {"type": "http.request", "body": part, "more_body": cut or number < len(parts)}
            for number, part in enumerate(parts, start=1)
        ]
        if cut:
            incoming.append({"type": "http.disconnect"})
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not incoming:
                await asyncio.Event().wait()  # the client waits for its answer
            return incoming.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        target, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "scheme": "http",
            "method": method, "path": target, "raw_path": path.encode(), "query_string": query.encode(),
            "root_path": "",
            "headers": raw, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8080),
        }  # fmt: skip
        await self.app(scope, receive, send)
        if not sent:
            return Answer(NO_ANSWER, {}, b"")
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], answered, b"".join(message.get("body", b"") for message in sent[1:]))

    async def post(
        self,
        headers: dict[str, str] | Sequence[tuple[str, str]] = (),
        body: bytes | Sequence[bytes] = b"",
        path: str = CHANNEL,
        **how: bool,
    ) -> Answer:
        return await self.call("POST", path, headers, body, **how)

    async def send_json(self, method: str, path: str, document: Any) -> Answer:
        return await self.call(
            method, path, {"content-type": "application/json"}, msgspec.json.encode(document)
        )

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Serve it on a port of this machine, as the http role does."""
        listener = socket.create_server(("127.0.0.1", 0))
        server = make_server(self.app, self.settings)
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
