"""What every delivery protocol has to do, run by each against its real server.

A protocol's test subclasses `ProtocolContract` and gives it one fixture, `peer`: the server and an independent consumer
of it. Independent means: what arrived is read with the protocol's own tools, not with Headrace's bindings.

    class TestNatsContract(ProtocolContract):
        @pytest.fixture
        async def peer(self, nats_server):
            async with NatsPeer(nats_server) as peer:
                yield peer
"""

import asyncio
import base64
import json
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.delivery.attempt.outcome import Sender, Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.target import Target
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network
from headrace.events import Event
from headrace.events.recorded import Arrival, Recorded

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "com.example.t"}
JSON = {"datacontenttype": "application/json"}
SAMPLES = {
    "no-data": Event(REQUIRED),
    "bytes": Event(REQUIRED | {"datacontenttype": "application/octet-stream"}, bytes(range(256))),
    "empty-data": Event(REQUIRED | {"datacontenttype": "application/octet-stream"}, b""),
    "json": Event(REQUIRED | JSON, b'{"a": 1.0e3 , "b":"\\u00e4", "c":[ 12345678901234567890 ]}'),
    "text": Event(REQUIRED | {"datacontenttype": "text/plain; charset=utf-8"}, "grün € \U0001f600".encode()),
    "time": Event(REQUIRED | JSON | {"time": "2026-01-01T00:00:00.1200+01:00"}, b"1"),
    "unicode": Event(
        REQUIRED | JSON | {"subject": 'Über "50%" €\U0001f600', "source": "/größe?a=b%20c"}, b"[]"
    ),
    "extensions": Event(
        REQUIRED | JSON | {"flag": True, "count": -7, "word": " spaced, out ", "n": "7"}, b"{}"
    ),
    "all-attributes": Event(
        REQUIRED | JSON | {"subject": "s/1", "dataschema": "http://x.example/s", "partitionkey": "k"}, b"null"
    ),
    "0.3": Event(REQUIRED | JSON | {"specversion": "0.3", "time": "2026-01-01T00:00:00.000Z"}, b'{"a":1}'),
}
_QUICK, _LONG = 5.0, 60.0


class Peer(ABC):
    """A real server, and a consumer of it that shares no code with the sender.

    Servers may be shared between tests; what `received` returns begins with this peer (a topic or queue of its own).
    """

    modes: Sequence[str] = ("binary", "structured")
    large: int = 900_000
    """Bytes of data that the server is set up to take."""

    pools: bool = False
    """Whether connections are shared by subscriptions, so that `forget` may leave them open."""

    @abstractmethod
    def new_sender(self, guard: Guard) -> Sender:
        """Make what is under test; whoever asks closes it."""

    @abstractmethod
    def target(self, mode: str = "binary", *, owner: str = "owner", **settings: Any) -> Target:
        """Return a target that this server takes, its address given as 127.0.0.1, with a timeout of some seconds."""

    @abstractmethod
    def uri(self, host: str, port: int) -> str:
        """Return the sink of a server elsewhere."""

    @property
    @abstractmethod
    def port(self) -> int:
        """Where the server listens."""

    @abstractmethod
    async def received(self, count: int, seconds: float = 20.0) -> list[Event]:
        """Return everything that arrived so far, once it is at least `count` events or the time is up."""

    @abstractmethod
    async def kill(self) -> None:
        """Kill the server (SIGKILL), in the middle of whatever it does."""

    @abstractmethod
    async def start(self) -> None:
        """Start it again at the same port, and have the consumer find it."""

    def wrong_credential(self) -> Target | None:
        """Return a target whose credential this server refuses; its secret is `wr0ng`. None: it asks for none."""
        return None

    def expected(self, event: Event, mode: str) -> Event:
        """Return what the consumer should see, where the protocol can't say everything (no data, or empty data)."""
        return event


class ProtocolContract:
    """Subclass it and define the fixture `peer`."""

    @pytest.fixture
    def guard(self):
        guard = Guard([Network("127.0.0.0/8"), Network("::1")])
        yield guard
        guard.close()

    @pytest.fixture
    async def sender(self, peer, guard):
        sender = peer.new_sender(guard)
        yield sender
        await sender.close()
        await asyncio.sleep(
            0.05
        )  # transports that were cut off end a moment later, in the loop that they belong to

    @pytest.mark.parametrize("name", SAMPLES)
    async def test_an_event_arrives_unaltered_in_every_mode(self, peer, sender, name):
        for count, mode in enumerate(peer.modes, 1):
            outcome = await sender.send(peer.target(mode), payloads(SAMPLES[name]))
            assert outcome.verdict is Verdict.DONE, outcome
            seen = (await peer.received(count))[count - 1]
            assert_same(seen, peer.expected(SAMPLES[name], mode), mode)

    async def test_a_large_event_arrives(self, peer, sender):
        event = Event(REQUIRED | {"datacontenttype": "application/octet-stream"}, os.urandom(peer.large))
        assert (await sender.send(peer.target(), payloads(event))).verdict is Verdict.DONE
        [seen] = await peer.received(1)
        assert seen.data == event.data

    async def test_many_at_once_all_arrive(self, peer, sender):
        events = numbered(300)
        targets = [peer.target(owner=f"owner-{number}") for number in range(3)]
        outcomes = await asyncio.gather(
            *(sender.send(targets[index % 3], payloads(event)) for index, event in enumerate(events))
        )
        assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}
        assert ids(await peer.received(300)) == ids(events)

    async def test_nobody_listens(self, peer, sender):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else can come to listen there
            there = peer.uri("127.0.0.1", taken.getsockname()[1])
            async with asyncio.timeout(_LONG):
                outcome = await sender.send(replace(peer.target(), uri=there, timeout=3.0), payloads())
        assert outcome.verdict is Verdict.AGAIN
        assert outcome.reason

    async def test_a_host_that_has_no_address(self, peer, sender):
        there = replace(peer.target(), uri=peer.uri("nowhere.invalid", peer.port), timeout=3.0)
        async with asyncio.timeout(_LONG):
            outcome = await sender.send(there, payloads())
        assert outcome.verdict is Verdict.AGAIN
        assert outcome.reason

    async def test_a_dead_address_does_not_harm_the_others(self, peer, sender):
        dead = replace(peer.target(owner="dead"), uri=peer.uri("127.0.0.1", 1), timeout=3.0)
        alive = peer.target(owner="alive")
        outcomes = await asyncio.gather(
            *(sender.send(target, payloads(event)) for event in numbered(10) for target in (dead, alive))
        )
        assert {outcome.verdict for outcome in outcomes[0::2]} == {Verdict.AGAIN}
        assert {outcome.verdict for outcome in outcomes[1::2]} == {Verdict.DONE}
        assert len(ids(await peer.received(10))) == 10

    @pytest.mark.parametrize(
        ("host", "verdict"), [("127.0.0.1", Verdict.NEVER), ("localhost", Verdict.AGAIN)]
    )
    async def test_what_the_guard_refuses_is_not_connected_to(self, peer, host, verdict):
        guard = Guard()
        sender = peer.new_sender(guard)
        before = connections_to(peer.port)
        outcome = await sender.send(
            replace(peer.target(), uri=peer.uri(host, peer.port), timeout=_QUICK), payloads()
        )
        assert (outcome.verdict, connections_to(peer.port)) == (verdict, before)
        assert "loopback" in outcome.reason
        assert "delivery.allow_networks" in outcome.reason
        assert await peer.received(1, 0.2) == []
        await sender.close()
        guard.close()

    async def test_a_wrong_credential_is_said_without_the_secret(self, peer, sender):
        target = peer.wrong_credential()
        if target is None:
            pytest.skip("this server asks for no credential")
        outcome = await sender.send(target, payloads())
        assert outcome.verdict in {Verdict.AGAIN, Verdict.NEVER}
        assert outcome.unauthorized, "or nobody would get a new token"
        assert outcome.reason
        assert "wr0ng" not in repr(outcome)
        assert await peer.received(1, 0.2) == []

    async def test_a_server_that_accepts_and_says_nothing(self, peer, sender):
        async with silent_server() as port:
            there = replace(peer.target(owner="silent"), uri=peer.uri("127.0.0.1", port), timeout=0.5)
            async with asyncio.timeout(20):
                outcomes = await asyncio.gather(*(sender.send(there, payloads()) for _ in range(5)))
        assert {outcome.verdict for outcome in outcomes} == {Verdict.AGAIN}
        assert all(outcome.reason for outcome in outcomes)
        assert (await sender.send(peer.target(), payloads())).verdict is Verdict.DONE

    async def test_a_server_that_is_killed_and_comes_back(self, peer, sender):
        events = numbered(40)
        done: set[str] = set()
        target = replace(peer.target(), timeout=3.0)

        async def deliver(event: Event) -> None:
            """As the dispatcher does: again until it is done."""
            while event.id not in done:
                outcome = await sender.send(target, payloads(event))
                assert outcome.verdict in {Verdict.AGAIN, Verdict.DONE}, outcome
                if outcome.verdict is Verdict.DONE:
                    done.add(event.id)
                else:
                    assert outcome.reason
                    await asyncio.sleep(0.1)

        async with asyncio.timeout(2 * _LONG):
            await asyncio.gather(*map(deliver, events[:10]))
            under_way = [asyncio.create_task(deliver(event)) for event in events[10:30]]
            await asyncio.sleep(0.002)
            await peer.kill()
            under_way += [asyncio.create_task(deliver(event)) for event in events[30:]]
            await asyncio.sleep(0.3)
            assert len(done) < 40
            await peer.start()
            await asyncio.gather(*under_way)
            while ids(await peer.received(40)) != ids(
                events
            ):  # there may be duplicates among the first forty
                await asyncio.sleep(0.05)

    async def test_what_was_forgotten_is_connected_anew(self, peer, guard):
        before = connections_to(peer.port)
        sender = peer.new_sender(guard)
        assert (await sender.send(peer.target(owner="a"), payloads())).verdict is Verdict.DONE
        assert connections_to(peer.port) > before
        await sender.forget("a")
        await sender.forget("never heard of")
        if not peer.pools:
            await eventually(lambda: connections_to(peer.port) <= before)
        assert (await sender.send(peer.target(owner="a"), payloads())).verdict is Verdict.DONE
        await sender.close()

    async def test_nothing_is_left_after_closing(self, peer, guard):
        tasks, before = asyncio.all_tasks(), connections_to(peer.port)
        sender = peer.new_sender(guard)
        targets = [peer.target(owner=f"owner-{number}") for number in range(5)]
        await asyncio.gather(*(sender.send(target, payloads()) for target in targets))
        assert connections_to(peer.port) > before
        await sender.close()
        await eventually(lambda: connections_to(peer.port) <= before)
        await eventually(lambda: asyncio.all_tasks() <= tasks)

    async def test_closing_does_not_wait_for_a_silent_server(self, peer, guard):
        sender = peer.new_sender(guard)
        async with silent_server() as port:
            there = replace(peer.target(), uri=peer.uri("127.0.0.1", port), timeout=0.3)
            await sender.send(there, payloads())
            async with asyncio.timeout(10):
                await sender.close()

    async def test_closing_twice_or_unused_is_harmless(self, peer, guard):
        sender = peer.new_sender(guard)
        await sender.close()
        await sender.close()


def payloads(event: Event = SAMPLES["json"], position: int = 0) -> list[Payload]:
    return [Payload(Recorded(position, 0, Arrival(event, "default", "default")))]


def numbered(count: int) -> list[Event]:
    return [Event(REQUIRED | JSON | {"id": f"n{number}"}, b'{"n": %d}' % number) for number in range(count)]


def ids(events: Sequence[Event]) -> set[str]:
    return {event.id for event in events}


def assert_same(seen: Event, expected: Event, mode: str) -> None:
    """Compare what a consumer saw. Binary modes carry every attribute as its text."""
    attributes = dict(expected.attributes)
    assert dict(seen.attributes) == (attributes if mode == "structured" else in_text(attributes))
    assert seen.data == expected.data


def in_text(attributes: dict[str, Any]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in attributes.items()
    }


def read_structured(document: bytes) -> Event:
    """Read a JSON event with the standard library alone; its data is the slice of the document that it was."""
    members = {name: (value, raw) for name, value, raw in _members(document.decode())}
    data, data_base64 = members.pop("data", None), members.pop("data_base64", None)
    attributes = {name: value for name, (value, _) in members.items()}
    if data_base64 is not None:
        return Event(attributes, base64.b64decode(data_base64[0]))
    if data is None:
        return Event(attributes)
    is_json = "json" in attributes.get("datacontenttype", "json")
    return Event(attributes, (data[1] if is_json else data[0]).encode())


def _members(text: str) -> Iterator[tuple[str, Any, str]]:
    decoder, index = json.JSONDecoder(), _skip(text, text.index("{") + 1)
    while text[index] != "}":
        name, index = decoder.raw_decode(text, index)
        begin = _skip(text, index)
        value, index = decoder.raw_decode(text, begin)
        yield name, value, text[begin:index]
        index = _skip(text, index)


def _skip(text: str, index: int) -> int:
    """Go past blanks and the signs between members."""
    while text[index] in " \t\r\n,:":
        index += 1
    return index


def connections_to(port: int) -> int:
    """Count this process's own established TCP connections to a local port."""
    own = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            own.add(str(each.readlink()))
        except OSError:
            continue
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(
        row[2].endswith(f":{port:04X}") and row[3] == "01" and f"socket:[{row[9]}]" in own for row in rows
    )


@asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """Accept connections, read what comes and never answer."""
    open_ones: list[asyncio.StreamWriter] = []

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.append(writer)
        try:
            while await reader.read(65536):
                pass
        except OSError:
            pass

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in open_ones:
            writer.close()
        await asyncio.sleep(0)


async def eventually(condition, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not become true in time"
        await asyncio.sleep(0.01)
