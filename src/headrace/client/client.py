"""A client of the HTTP API."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import urlencode, urlsplit
from weakref import WeakSet

import aiohttp
import msgspec

from headrace.client.consumer import Consumer, PulledEvent
from headrace.client.defaults import DEFAULT_CHANNEL, DEFAULT_URL
from headrace.client.points import PointLike, point
from headrace.client.publisher import Publisher
from headrace.errors import JobFailed, ServiceRefused, ServiceUnreachable
from headrace.events.bindings.http import Message, encode_batch, encode_binary, encode_structured
from headrace.events.json_format import decode

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence

    from headrace.client.interest import Kind
    from headrace.events.event import Event

_Kind = TypeVar("_Kind")
_UNHURRIED = aiohttp.ClientTimeout(total=None, sock_connect=30.0)


class _Answer(NamedTuple):
    """What the service answered; `next` is the query by which the page behind is asked for, where there is one."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    next: str | None


class _PulledEvent(msgspec.Struct):
    event: msgspec.Raw
    cursor: str
    position: int
    handed: int
    replay: str | None = None


class _Pulled(msgspec.Struct):
    events: list[_PulledEvent]


class Client:
    """Use it as an async context manager, from one event loop.

    `token` is an API key or a token of an OpenID provider, where the service asks who somebody is, or a function that
    returns it, such as a TokenFile, which is called for each request.
    Errors are ServiceRefused, with the service's own words, and ServiceUnreachable.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | Callable[[], str] | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._session: aiohttp.ClientSession | None = None
        self._consumers: WeakSet[Consumer] = WeakSet()

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=self._timeout,
            connector=aiohttp.TCPConnector(limit=0),
            skip_auto_headers=("Content-Type",),
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        for consumer in list(self._consumers):
            await consumer.close()
        if self._session is not None:
            await self._session.close()

    async def publish(
        self, event: Event, channel: str = DEFAULT_CHANNEL, *, structured: bool = False
    ) -> None:
        """Send one event; it is durable when this returns."""
        await self.post(encode_structured(event) if structured else encode_binary(event), channel)

    async def publish_batch(self, events: Sequence[Event], channel: str = DEFAULT_CHANNEL) -> None:
        """Send many events in one request: all of them are durable when this returns, or none."""
        await self.post(encode_batch(events), channel)

    async def post(self, message: Message, channel: str = DEFAULT_CHANNEL) -> None:
        """Send an encoded message to a channel."""
        await self._request("POST", f"/channels/{channel}", message.body, message.headers)

    def publisher(
        self,
        channel: str = DEFAULT_CHANNEL,
        *,
        interest: Kind | None = "cel",
        max_age: float = 0.0,
    ) -> Publisher:
        """Return a publisher that drops what nobody wants: by the channel's CEL expression or its Bloom filter.

        It asks before it drops. With a `max_age` it relies on an answer for so many seconds, and whoever subscribes in
        them may miss what it drops.
        """
        return Publisher(self, channel, interest, max_age)

    async def interest(self, channel: str = DEFAULT_CHANNEL) -> dict[str, Any]:
        """Show what a channel's subscriptions want, as one CEL expression."""
        return await self._object("GET", f"/api/channels/{channel}/interest")

    async def create_channel(
        self,
        namespace: str,
        name: str,
        delivery: Mapping[str, Any] | None = None,
        subscriptionconfig: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Make a channel.

        `delivery` holds for its subscriptions that have no delivery object of their own; `subscriptionconfig` declares
        keys that they may have in their `config`.
        """
        given = {"delivery": delivery, "subscriptionconfig": subscriptionconfig}
        return await self._object("POST", "/api/channels", {"namespace": namespace, "name": name} | given)

    async def change_channel(
        self,
        channel: str,
        delivery: Mapping[str, Any] | None,
        subscriptionconfig: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Let a channel, `namespace/name`, have this delivery object and these declarations, or none."""
        given = {"delivery": delivery, "subscriptionconfig": subscriptionconfig}
        return await self._object("PUT", f"/api/channels/{channel}", given)

    async def delete_channel(self, channel: str) -> None:
        """Remove a channel, `namespace/name`, that nobody listens to."""
        await self._request("DELETE", f"/api/channels/{channel}")

    async def channels(self) -> list[dict[str, Any]]:
        """List the channels."""
        return await self._list("/api/channels")

    async def subscribe(self, subscription: Mapping[str, Any]) -> dict[str, Any]:
        """Create a subscription, and return it with its id and defaults."""
        return await self._object("POST", "/subscriptions", subscription)

    async def subscriptions(self, **which: str | None) -> list[dict[str, Any]]:
        """List the subscriptions; `which` as of `each_subscription`. Be careful: there may be very many."""
        return [each async for each in self.each_subscription(**which)]

    async def each_subscription(
        self, page_size: int = 1000, /, **which: str | None
    ) -> AsyncIterator[dict[str, Any]]:
        """Go through subscriptions in the order of their creation; a page of them at a time is asked for.

        `which` are the API's: `channel`, `namespace`, `sink`, `protocol` and `state`.
        """
        query: str | None = _query({**which, "limit": page_size})
        while query is not None:
            answer = await self._exchange("GET", f"/subscriptions?{query}")
            for each in self._read(answer.content, list[dict[str, Any]]):
                yield each
            query = answer.next

    async def subscription(self, subscription_id: str) -> dict[str, Any]:
        """Show one subscription."""
        return await self._object("GET", f"/subscriptions/{subscription_id}")

    async def look_at_subscription(self, subscription_id: str) -> tuple[dict[str, Any], str]:
        """Show one subscription, and the ETag that stands for it as it is now."""
        answer = await self._exchange("GET", f"/subscriptions/{subscription_id}")
        return self._read(answer.content, dict[str, Any]), answer.headers.get("etag", "")

    async def update_subscription(
        self, subscription_id: str, subscription: Mapping[str, Any], etag: str | None = None
    ) -> dict[str, Any]:
        """Let a subscription be this one, the whole of it, and return it with its defaults.

        With the ETag that was looked at: ServiceRefused, with status 412, where somebody changed it since. A secret
        that is shown masked stays, as long as it goes to the same host.
        """
        path = f"/subscriptions/{subscription_id}"
        return await self._object("PUT", path, subscription, _if_match(etag))

    async def unsubscribe(self, subscription_id: str, etag: str | None = None) -> dict[str, Any]:
        """End a subscription, and return what it was; with an ETag, only if nobody changed it since."""
        path = f"/subscriptions/{subscription_id}"
        return await self._object("DELETE", path, headers=_if_match(etag))

    async def import_subscriptions(
        self,
        lines: AsyncIterable[bytes],
        *,
        dry_run: bool = False,
        keep_ids: bool = False,
        skip_faulty: bool = False,
    ) -> dict[str, Any]:
        """Create a subscription of every line of JSON, or none if one is faulty; it takes as long as it takes."""
        flags = {"dryRun": dry_run, "keepIds": keep_ids, "skipFaulty": skip_faulty}
        query = urlencode({name: "true" for name, is_set in flags.items() if is_set})
        headers = [("content-type", "application/x-ndjson")]
        async with self._answer(
            "POST", f"/api/subscriptions/import?{query}", lines, headers, _UNHURRIED
        ) as response:
            return self._read(await response.read(), dict[str, Any])

    async def export_subscriptions(self, channel: str | None = None) -> AsyncIterator[bytes]:
        """Go through the subscriptions, of a channel or all, as lines of JSON; their secrets are not among it."""
        path = f"/api/subscriptions/export?{_query({'channel': channel})}"
        async with self._answer("GET", path, timeout=_UNHURRIED) as response:
            async for line in response.content:
                yield line

    async def set_aside(self, limit: int = 100) -> list[dict[str, Any]]:
        """List what could not be routed, the newest first."""
        return await self._list(f"/api/set-aside?limit={limit}")

    # Deliveries

    async def pause(self, subscription_id: str) -> dict[str, Any]:
        """Let a subscription's events wait."""
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/pause")

    async def resume(self, subscription_id: str) -> dict[str, Any]:
        """Deliver again, also where the sink had said that it is gone."""
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/resume")

    async def attempts(self, **which: Any) -> dict[str, Any]:
        """Return a page of `attempts`, the newest first; `next`, if there is one, is the `cursor` of the next.

        `which` are the API's: `subscription`, `channel`, `verdict`, `status`, `stage`, `position`, `since`, `until`,
        `limit` and `cursor`.
        """
        return await self._object("GET", f"/api/attempts?{_query(which)}")

    async def attempt(self, attempt_id: int) -> dict[str, Any]:
        """Show one attempt, with what the sink answered."""
        return await self._object("GET", f"/api/attempts/{attempt_id}")

    async def retry(self, attempt_id: int) -> dict[str, Any]:
        """Ask to have an attempt's event delivered again now, and return the redrive."""
        return await self._object("POST", f"/api/attempts/{attempt_id}/retry")

    async def dead_letters(self, **which: Any) -> dict[str, Any]:
        """Return a page of `deadLetters`, the newest first; `which` as of attempts, without the outcome's."""
        return await self._object("GET", f"/api/dead-letters?{_query(which)}")

    async def redrive(self, *, dry_run: bool = False, **which: Any) -> dict[str, Any]:
        """Ask to have deliveries made again, and return the redrive with the count; a dry run only counts.

        `which` are the API's: `subscription`, `channel`, `filter`, `state`, `since`, `until` and `rate`.
        """
        members = {name: value for name, value in which.items() if value is not None}
        return await self._object("POST", "/api/redrive", members | {"dryRun": dry_run})

    async def redrives(self) -> list[dict[str, Any]]:
        """List redrives, the newest first."""
        return await self._list("/api/redrives")

    async def find_redrive(self, redrive_id: str, *, wait_seconds: int = 0) -> dict[str, Any]:
        """Show a redrive, as soon as it has ended or the time is over."""
        headers = [("prefer", f"wait={wait_seconds}")] if wait_seconds else []
        answer = await self._request("GET", f"/api/redrives/{redrive_id}", headers=headers)
        return self._read(answer, dict[str, Any])

    async def cancel_redrive(self, redrive_id: str) -> dict[str, Any]:
        """Cancel a redrive: what has not moved stays where it is."""
        return await self._object("DELETE", f"/api/redrives/{redrive_id}")

    async def test_send(self, subscription_id: str, event: Event | None = None) -> dict[str, Any]:
        """Send one event, or a sample, to a subscription's sink now, and return what came of it."""
        body = b"" if event is None else encode_structured(event).body
        path = f"/api/subscriptions/{subscription_id}/test"
        headers = [("content-type", "application/json")]
        return self._read(await self._request("POST", path, body, headers), dict[str, Any])

    # Pulling

    def events(self, subscription_id: str, *, max_events: int = 500) -> Consumer:
        """Return an async iterator over the events of a subscription of protocol PULL; so many are fetched at a time.

        An event is acknowledged when the next one is asked for: every event comes at least once.
        """
        wait_seconds = max(1, min(20, int((self._timeout.total or 60) / 2)))
        consumer = Consumer(self, subscription_id, most=max_events, wait_seconds=wait_seconds)
        self._consumers.add(consumer)
        return consumer

    async def pull(
        self, subscription_id: str, *, max_events: int = 100, wait_seconds: int = 0, cursor: str | None = None
    ) -> list[PulledEvent]:
        """Return events of a subscription of protocol PULL, as soon as there are any or the time is over.

        They come again after the lease, unless they are acknowledged. A `cursor`, of an event that was pulled before,
        acknowledges up to there; what the same consumer holds beyond it comes again now.
        """
        query = _query({"max": max_events, "wait": wait_seconds, "cursor": cursor})
        path = f"/api/subscriptions/{subscription_id}/events?{query}"
        answer = await self._request("GET", path, headers=[("accept", "application/json")])
        found = self._read(answer, _Pulled).events if answer else []
        return [
            PulledEvent(decode(bytes(each.event)), each.cursor, each.position, each.handed, each.replay)
            for each in found
        ]

    async def acknowledge(
        self,
        subscription_id: str,
        *,
        up_to: str | None = None,
        ids: Sequence[str] = (),
        release: bool = False,
    ) -> dict[str, Any]:
        """Say that events are done: all up to a cursor, and these; with `release`, give back what else is held."""
        said = {"upTo": up_to, "ids": list(ids), "release": release}
        document = {name: value for name, value in said.items() if value}
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/ack", document)

    # Knative's objects

    async def apply(
        self, manifests: Sequence[Mapping[str, Any]], *, namespace: str = "default", dry_run: bool = False
    ) -> list[dict[str, Any]]:
        """Bring objects to what the manifests say, all or none; return what became of each."""
        query = urlencode({"namespace": namespace, "dryRun": str(dry_run).lower()})
        answer = await self._object("POST", f"/api/apply?{query}", list(manifests))
        return list(answer["results"])

    async def objects(self, kind: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """List the objects of a kind (`triggers`), of one namespace or of all."""
        query = f"?{urlencode({'namespace': namespace})}" if namespace else ""
        return await self._list(f"/api/objects/{kind}{query}")

    async def object(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        """Show an object, with its status."""
        return await self._object("GET", f"/api/objects/{kind}/{namespace}/{name}")

    async def delete_object(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        """Remove an object and what was made for it; return what it was."""
        return await self._object("DELETE", f"/api/objects/{kind}/{namespace}/{name}")

    # Who may do what

    async def whoami(self) -> dict[str, Any]:
        """Ask as whom the service knows this client, and what it may do."""
        return await self._object("GET", "/api/whoami")

    async def create_key(
        self, name: str, grants: Mapping[str, Sequence[str]], expires: str | int | None = None
    ) -> dict[str, Any]:
        """Make an API key with roles by namespace; `key` in the answer is shown this once."""
        document = {"name": name, "grants": grants} | ({} if expires is None else {"expires": expires})
        return await self._object("POST", "/api/keys", document)

    async def keys(self) -> list[dict[str, Any]]:
        """List API keys, without what is secret of them."""
        return await self._list("/api/keys")

    async def revoke_key(self, key_id: str) -> dict[str, Any]:
        """Let an API key be good no more."""
        return await self._object("DELETE", f"/api/keys/{key_id}")

    async def quotas(self, namespace: str) -> dict[str, Any]:
        """Show what a namespace may have, and what it has."""
        return await self._object("GET", f"/api/quotas/{namespace}")

    async def all_quotas(self) -> dict[str, Any]:
        """Show the default quotas, and those that namespaces have of their own."""
        return await self._object("GET", "/api/quotas")

    async def set_quotas(self, namespace: str, quotas: Mapping[str, Any]) -> dict[str, Any]:
        """Let a namespace have these quotas of its own, and the defaults for the rest."""
        return await self._object("PUT", f"/api/quotas/{namespace}", quotas)

    async def changes(self, **which: Any) -> dict[str, Any]:
        """Return a page of `changes`, the newest first; `next`, if there is one, is the `cursor` of the next.

        `which` are the API's: `namespace`, `who`, `kind`, `object`, `since`, `until`, `limit` and `cursor`.
        """
        return await self._object("GET", f"/api/audit?{_query(which)}")

    # Time travel

    async def seek(self, subscription_id: str, to: PointLike, *, dry_run: bool = False) -> dict[str, Any]:
        """Ask to have a subscription delivered from a point on, and return the job; `finished` waits for it."""
        document = {"to": point(to), "dryRun": dry_run}
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/seek", document)

    async def replay(
        self,
        subscription_id: str,
        start: PointLike = "earliest",
        end: PointLike | None = None,
        *,
        filter: Any = None,  # noqa: A002  as everywhere
        rate: float | None = None,
    ) -> dict[str, Any]:
        """Ask to have events of the past delivered once more, and return the job."""
        members = {
            "from": point(start),
            "to": None if end is None else point(end),
            "filter": filter,
            "rate": rate,
        }
        document = {name: value for name, value in members.items() if value is not None}
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/replay", document)

    async def backtest(self, filters: Any, **options: Any) -> dict[str, Any]:
        """Ask what filters would have matched, and return the job.

        Options are those of the API: `channel`, `examples`, `buckets`, and the times `start` and `end`.
        """
        names = {"start": "from", "end": "to"}
        document = {names.get(name, name): value for name, value in options.items() if value is not None}
        key = "filters" if isinstance(filters, list) else "filter"
        return await self._object("POST", "/api/filters/backtest", {key: filters} | document)

    async def jobs(self, **which: str) -> list[dict[str, Any]]:
        """List jobs, the newest first; `kind` and `subscription` choose some."""
        return await self._list(f"/api/jobs?{urlencode(which)}")

    async def job(self, job_id: str, *, wait_seconds: int = 0) -> dict[str, Any]:
        """Show a job, as soon as it has ended or the time is over."""
        headers = [("prefer", f"wait={wait_seconds}")] if wait_seconds else []
        return self._read(await self._request("GET", f"/api/jobs/{job_id}", headers=headers), dict[str, Any])

    async def cancel_job(self, job_id: str) -> dict[str, Any]:
        """Cancel a job."""
        return await self._object("DELETE", f"/api/jobs/{job_id}")

    async def finished(
        self,
        job: Mapping[str, Any],
        on_progress: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> dict[str, Any]:
        """Wait for a job and return its result, or raise JobFailed; `on_progress` hears of it every second or so."""
        while True:
            job = await self.job(job["id"], wait_seconds=1)
            on_progress(job)
            if job["state"] == "done":
                return dict(job["result"])
            if job["state"] in ("failed", "cancelled"):
                raise JobFailed(job)

    async def readiness(self) -> dict[str, Any]:
        """Ask whether every role is ready; an answer of 503 is an answer too."""
        try:
            return await self._object("GET", "/readyz")
        except ServiceRefused as refusal:
            return refusal.problem

    async def metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return (await self._request("GET", "/metrics")).decode()

    async def _object(
        self, method: str, path: str, document: Any = None, headers: Sequence[tuple[str, str]] = ()
    ) -> dict[str, Any]:
        body = b"" if document is None else msgspec.json.encode(document)
        answer = await self._request(method, path, body, [("content-type", "application/json"), *headers])
        return self._read(answer, dict[str, Any])

    async def _list(self, path: str) -> list[dict[str, Any]]:
        return self._read(await self._request("GET", path), list[dict[str, Any]])

    def _read(self, answer: bytes, kind: type[_Kind]) -> _Kind:
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.DecodeError as error:
            raise ServiceUnreachable(self._url, "what answers there doesn't answer with its JSON") from error

    async def _request(
        self, method: str, path: str, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()
    ) -> bytes:
        return (await self._exchange(method, path, body, headers)).content

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Make a request of any kind, and return status, headers and content; 304 is an answer too."""
        answer = await self._exchange(method, path, body, headers)
        return answer.status, answer.headers, answer.content

    async def _exchange(
        self, method: str, path: str, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()
    ) -> _Answer:
        async with self._answer(method, path, body, headers) as response:
            content = await response.read()
        link = response.links.get("next")
        behind = None if link is None else urlsplit(str(link["url"])).query
        return _Answer(response.status, response.headers, content, behind)

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        body: bytes | AsyncIterable[bytes] = b"",
        headers: Sequence[tuple[str, str]] = (),
        timeout: aiohttp.ClientTimeout | None = None,  # noqa: ASYNC109  aiohttp's own
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield an answer that says that it went well; any other is an error."""
        if self._session is None:
            raise RuntimeError("use the client as `async with Client(…) as client`")
        try:
            async with self._session.request(
                method,
                self._url + path,
                data=body,
                headers=[*headers, *self._credentials()],
                allow_redirects=False,
                timeout=timeout or self._timeout,
            ) as response:
                if not 200 <= response.status < 300 and response.status != 304:
                    raise ServiceRefused(response.status, _problem(await response.read()))
                yield response
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ServiceUnreachable(self._url, str(error) or type(error).__name__) from error

    def _credentials(self) -> list[tuple[str, str]]:
        token = self._token() if callable(self._token) else self._token
        return [] if token is None else [("authorization", f"Bearer {token}")]


def _if_match(etag: str | None) -> list[tuple[str, str]]:
    return [] if etag is None else [("if-match", etag)]


def _query(which: Mapping[str, Any]) -> str:
    return urlencode({name: value for name, value in which.items() if value is not None})


def _problem(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
