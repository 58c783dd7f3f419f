"""Delivery to a real NATS server: the contract, once stored by JetStream and once by core NATS, and what is NATS's own."""

import asyncio
import re
import time
from dataclasses import replace
from itertools import count
from typing import Any
from urllib.parse import unquote

import nats
import pytest
import trustme
from nats.js import api
from tests.delivery.protocols.contract import (
    JSON,
    REQUIRED,
    Peer,
    ProtocolContract,
    connections_to,
    numbered,
    payloads,
    read_structured,
)
from tests.nats_server import NatsServer

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.nats.sender import NatsSender
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network
from headrace.events import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.secrets.credential import Plain, Token

USERS = """
authorization { users: [
  { user: "alice", password: "s3cret" }
  { user: "bob", password: "s3cret", permissions: { publish: { allow: ["open.>", "$JS.>"] } } }
] }
max_payload: 1048576
"""
ALICE, BOB = Plain("alice", "s3cret"), Plain("bob", "s3cret")
_numbers = count()


@pytest.fixture(scope="module")
def nats_server(tmp_path_factory):
    server = NatsServer(tmp_path_factory.mktemp("nats"), USERS)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def guard():
    guard = Guard([Network("127.0.0.0/8"), Network("::1")])
    yield guard
    guard.close()


@pytest.fixture
async def sender(guard):
    sender = NatsSender(guard)
    yield sender
    await sender.close()


def target(server, credential=ALICE, scheme="nats", timeout=5.0, owner="owner", **settings):
    settings = {"mode": "binary", "subject": "open.x", "jetstream": False} | settings
    return Target(owner, "NATS", f"{scheme}://127.0.0.1:{server.port}", settings, timeout, credential)


class NatsPeer(Peer):
    """Reads messages with the client library; their headers by hand."""

    jetstream = False

    def __init__(self, server):
        self._server = server
        self.base = f"peer{next(_numbers)}"
        self._client: Any = None

    @property
    def port(self):
        return self._server.port

    def new_sender(self, guard):
        return NatsSender(guard)

    def target(self, mode="binary", *, owner="owner", **settings):
        # A subject for each mode: what differs by nothing else is the same delivery to JetStream.
        return target(
            self._server,
            mode=mode,
            owner=owner,
            subject=f"{self.base}.{mode}",
            jetstream=self.jetstream,
            **settings,
        )

    def uri(self, host, port):
        return f"nats://{host}:{port}"

    async def kill(self):
        await asyncio.to_thread(self._server.kill)

    async def start(self):
        await asyncio.to_thread(self._server.start)
        await self.__aexit__()
        await self.connect()

    def wrong_credential(self):
        return replace(self.target(), credential=Plain("alice", "wr0ng"))

    def expected(self, event, mode):
        """Binary: an empty message of no declared type is an event without data."""
        return event

    async def connect(self):
        self._client = await nats.connect(
            f"nats://127.0.0.1:{self.port}",
            user="alice",
            password="s3cret",
            allow_reconnect=False,
            error_cb=_silent,
        )

    async def __aenter__(self):
        await self.connect()
        return self

    async def __aexit__(self, *_):
        await self._client.close()


async def _silent(_):
    pass


def read(headers, payload):
    if headers.get("content-type", "").startswith("application/cloudevents"):
        return read_structured(payload)
    attributes = {
        name.removeprefix("ce-"): unquote(value) for name, value in headers.items() if name.startswith("ce-")
    }
    return Event(attributes, payload if payload or "datacontenttype" in attributes else None)


class CorePeer(NatsPeer):
    """Hears what is published while it listens."""

    async def connect(self):
        await super().connect()
        self._seen: list[Event] = []

        async def hear(message):
            self._seen.append(read(message.headers, message.data))

        await self._client.subscribe(f"{self.base}.>", cb=hear)
        await self._client.flush()

    async def received(self, count, seconds=20.0):
        deadline = time.monotonic() + seconds
        while len(self._seen) < count and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        return list(self._seen)


class StreamPeer(NatsPeer):
    """Reads a stream from its beginning."""

    jetstream = True

    async def __aenter__(self):
        await super().__aenter__()
        config = api.StreamConfig(name=self.base, subjects=[f"{self.base}.>"])
        await self._client.jetstream().add_stream(config)
        return self

    async def received(self, count, seconds=20.0):
        streams, deadline = self._client.jetstream(), time.monotonic() + seconds
        while True:
            held = (await streams.stream_info(self.base)).state.messages
            if held >= count or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.02)
        messages = [await streams.get_msg(self.base, number + 1) for number in range(held)]
        return [read(message.headers, message.data or b"") for message in messages]


class TestJetStreamContract(ProtocolContract):
    @pytest.fixture
    async def peer(self, nats_server):
        async with StreamPeer(nats_server) as peer:
            yield peer


class TestCoreContract(ProtocolContract):
    @pytest.fixture
    async def peer(self, nats_server):
        async with CorePeer(nats_server) as peer:
            yield peer

    async def test_a_server_that_is_killed_and_comes_back(self, peer, sender):
        """Core NATS keeps nothing: what a killed server had is lost with it. Deliveries go on all the same."""
        first, second = numbered(2)
        assert (await sender.send(peer.target(), payloads(first))).verdict is Verdict.DONE
        await peer.kill()
        outcome = await sender.send(peer.target(), payloads(second))
        assert outcome.verdict is Verdict.AGAIN
        assert outcome.reason
        await peer.start()
        assert (await sender.send(peer.target(), payloads(second))).verdict is Verdict.DONE
        assert [event.id for event in await peer.received(1)] == [second.id]


async def test_the_trace_goes_along(nats_server, sender):
    async with CorePeer(nats_server) as peer:
        heard = asyncio.get_running_loop().create_future()

        async def hear(message):
            heard.set_result(message.headers)

        await peer._client.subscribe("open.trace", cb=hear)
        await peer._client.flush()
        arrival = Arrival(Event(REQUIRED), "default", "default", "00-ab-cd-01", "vendor=1")
        await sender.send(target(nats_server, subject="open.trace"), [Payload(Recorded(0, 0, arrival))])
        headers = await asyncio.wait_for(heard, 5)
    assert (headers["traceparent"], headers["tracestate"]) == ("00-ab-cd-01", "vendor=1")


async def test_headers_are_those_of_the_binding_and_no_others(nats_server, sender):
    async with CorePeer(nats_server) as peer:
        heard = []

        async def hear(message):
            heard.append(message.headers)

        await peer._client.subscribe("open.headers", cb=hear)
        await peer._client.flush()
        event = Event(REQUIRED | JSON, b"{}")
        for mode in ("binary", "structured"):
            await sender.send(target(nats_server, subject="open.headers", mode=mode), payloads(event))
        await peer._client.flush()
        await asyncio.sleep(0.05)
    attributes = {f"ce-{name}": value for name, value in (REQUIRED | JSON).items()}
    assert heard == [attributes, {"content-type": "application/cloudevents+json"}]


async def test_a_repeated_delivery_is_stored_once(nats_server, sender):
    async with StreamPeer(nats_server) as peer:
        event = Event(REQUIRED | JSON, b"1")
        for owner, position in [("a", 1), ("a", 1), ("a", 2), ("b", 1)]:
            assert (
                await sender.send(peer.target(owner=owner), payloads(event, position))
            ).verdict is Verdict.DONE
        assert len(await peer.received(3)) == 3


async def test_a_subject_that_no_stream_takes(nats_server, sender):
    outcome = await sender.send(target(nats_server, subject="nobody.stores.this", jetstream=True), payloads())
    assert (outcome.verdict, outcome.reason) == (
        Verdict.AGAIN,
        "subject 'nobody.stores.this': no stream takes this subject",
    )


async def test_a_stream_that_is_full_may_have_room_later(nats_server, sender):
    async with StreamPeer(nats_server) as peer:
        config = api.StreamConfig(name="full", subjects=["full.x"], max_msgs=1, discard=api.DiscardPolicy.NEW)
        await peer._client.jetstream().add_stream(config)
        sends = [
            await sender.send(target(nats_server, subject="full.x", jetstream=True), payloads(event, number))
            for number, event in enumerate(numbered(2))
        ]
    assert [outcome.verdict for outcome in sends] == [Verdict.DONE, Verdict.AGAIN]
    assert "maximum messages exceeded" in sends[1].reason


async def test_a_message_larger_than_a_stream_takes_is_never_tried_again(nats_server, sender):
    async with StreamPeer(nats_server) as peer:
        config = api.StreamConfig(name="small", subjects=["small.x"], max_msg_size=1000)
        await peer._client.jetstream().add_stream(config)
        event = Event(REQUIRED, b"x" * 2000)
        outcome = await sender.send(target(nats_server, subject="small.x", jetstream=True), payloads(event))
    assert outcome.verdict is Verdict.NEVER
    assert "exceeds maximum" in outcome.reason


@pytest.mark.parametrize("jetstream", [False, True])
@pytest.mark.parametrize("subject", ["closed.X", "Closed"])
async def test_a_subject_that_the_user_may_not_publish_to(nats_server, sender, jetstream, subject):
    denied = target(nats_server, BOB, subject=subject, jetstream=jetstream)
    allowed = target(nats_server, BOB, subject="open.x")
    began = time.monotonic()
    outcomes = await asyncio.gather(
        *(sender.send(each, payloads()) for each in (denied, allowed, denied, allowed))
    )
    assert [outcome.verdict for outcome in outcomes] == [Verdict.NEVER, Verdict.DONE] * 2
    assert outcomes[0].reason == f"this user may not publish to subject {subject!r}"
    assert time.monotonic() - began < denied.timeout


async def test_an_event_larger_than_the_server_takes_harms_no_other(nats_server, sender):
    large = payloads(Event(REQUIRED, b"x" * ((1 << 20) - 50)))  # with its headers it is more than the limit
    outcomes = await asyncio.gather(
        *(sender.send(target(nats_server), each) for each in (payloads(), large, payloads()))
    )
    assert [outcome.verdict for outcome in outcomes] == [Verdict.DONE, Verdict.NEVER, Verdict.DONE]
    assert re.fullmatch(r"a message of \d+ bytes, and the server takes 1048576", outcomes[1].reason)
    assert connections_to(nats_server.port) == 1


async def test_a_missing_credential(nats_server, sender):
    outcome = await sender.send(target(nats_server, None), payloads())
    assert (outcome.verdict, outcome.reason) == (
        Verdict.NEVER,
        "the server refused the credential, or asks for one",
    )


async def test_a_token(tmp_path, sender):
    server = NatsServer(tmp_path, 'authorization { token: "t0ken" }')
    server.start()
    verdicts = [
        (await sender.send(target(server, Token("Bearer", value, 0.0)), payloads())).verdict
        for value in ("t0ken", "wr0ng")
    ]
    server.kill()
    assert verdicts == [Verdict.DONE, Verdict.NEVER]


async def test_subscriptions_with_equal_servers_and_credentials_share_a_connection(nats_server, sender):
    before = connections_to(nats_server.port)
    for owner in "abc":
        await sender.send(target(nats_server, owner=owner), payloads())
    assert connections_to(nats_server.port) == before + 1
    await sender.send(target(nats_server, BOB, owner="d"), payloads())
    assert connections_to(nats_server.port) == before + 2


async def test_the_second_server_of_a_sink(nats_server, sender):
    there = replace(target(nats_server), uri=f"nats://127.0.0.1:1,127.0.0.1:{nats_server.port}")
    assert (await sender.send(there, payloads())).verdict is Verdict.DONE


async def test_a_name_that_changes_its_address_gains_nothing(nats_server):
    """The first answer is looked at and connected to; a second one is never asked for."""
    answers = [
        [(2, 1, 6, "", ("10.0.0.1", nats_server.port))],
        [(2, 1, 6, "", ("127.0.0.1", nats_server.port))],
    ]
    guard = Guard(lookup=lambda *_, **__: answers.pop(0))
    sender = NatsSender(guard)
    there = replace(target(nats_server), uri=f"nats://rebinding.example:{nats_server.port}")
    outcome = await sender.send(there, payloads())
    assert (outcome.verdict, len(answers)) == (Verdict.AGAIN, 1)
    assert "10.0.0.1" in outcome.reason
    await sender.close()
    guard.close()


class TestTls:
    @pytest.fixture
    def server(self, tmp_path):
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1")
        issued.private_key_pem.write_to_path(tmp_path / "key.pem")
        issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        server = NatsServer(
            tmp_path, f'tls {{ cert_file: "{tmp_path}/cert.pem", key_file: "{tmp_path}/key.pem" }}'
        )
        server.start()
        yield server
        server.kill()

    @pytest.mark.parametrize("jetstream", [False, True])
    async def test_a_known_authority(self, server, guard, jetstream, tmp_path):
        sender = NatsSender(guard, str(tmp_path / "ca.pem"))
        outcome = await sender.send(target(server, None, "tls", jetstream=jetstream), payloads())
        assert outcome.verdict is (Verdict.AGAIN if jetstream else Verdict.DONE), outcome
        assert outcome.reason == ("subject 'open.x': no stream takes this subject" if jetstream else "")
        await sender.close()

    async def test_an_unknown_authority(self, server, sender):
        outcome = await sender.send(target(server, None, "tls"), payloads())
        assert outcome.verdict is Verdict.AGAIN
        assert "CERTIFICATE_VERIFY_FAILED" in outcome.reason

    async def test_a_password_is_not_sent_to_a_server_without_tls(self, nats_server, sender):
        outcome = await sender.send(target(nats_server, ALICE, "tls"), payloads())
        assert outcome.verdict is Verdict.AGAIN
        assert "offers no TLS" in outcome.reason


async def test_a_ping_never_overtakes_the_message_it_stands_for(sender):
    """A server that reads slowly, so that the client holds messages back. No real one can be told to."""
    resume, had_it = asyncio.Event(), []

    async def slowly(reader, writer):
        writer.write(b'INFO {"max_payload": 100000000, "headers": true}\r\n')
        while await reader.readline() != b"PING\r\n":
            pass
        writer.write(b"PONG\r\n")
        await resume.wait()
        received = b""
        while chunk := await reader.read(1 << 20):
            received += chunk
            while b"\r\nPING\r\n" in received:
                before, _, received = received.partition(b"\r\nPING\r\n")
                had_it.append(b"ce-id: small" in before)
                received = b"\r\n" + received
                writer.write(b"PONG\r\n")
        writer.close()

    server = await asyncio.start_server(slowly, "127.0.0.1", 0)
    there = replace(
        Target("o", "NATS", "", {"mode": "binary", "subject": "x"}, 20.0),
        uri=f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}",
    )
    sends = []
    for event in (Event(REQUIRED, b"x" * 30_000_000), Event(REQUIRED | {"id": "small"}, b"1")):
        sends.append(asyncio.create_task(sender.send(there, payloads(event))))
        await asyncio.sleep(0.3)
    resume.set()
    assert {outcome.verdict for outcome in await asyncio.gather(*sends)} == {Verdict.DONE}
    assert had_it == [False, True]
    await sender.close()
    server.close()
