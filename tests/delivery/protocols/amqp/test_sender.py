"""Delivery to a real RabbitMQ over AMQP 1.0: the contract, and what is AMQP's own.

What arrived is read by Proton's blocking client in a thread. The other end of a link that RabbitMQ never is (one that
rejects, releases, gives no credit) is Proton's own container.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, cast

import pytest
import uvloop

pytest.importorskip("proton", reason="AMQP's library has to be compiled, and could not be here")
from proton import Condition, Delivery, Message, ProtonException
from proton.handlers import MessagingHandler
from proton.reactor import Container
from proton.utils import BlockingConnection
from tests.delivery.protocols.contract import (
    REQUIRED,
    Peer,
    ProtocolContract,
    connections_to,
    eventually,
    ids,
    in_text,
    numbered,
    payloads,
    read_structured,
)
from tests.rabbitmq_server import QUEUES, RabbitServer

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.amqp.sender import AmqpSender
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network
from headrace.events import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.secrets.credential import Plain, Token
from headrace.service.processes.service import free_port

ALICE = Plain("alice", "s3cret")
_numbers = count()


@pytest.fixture(scope="module")
def rabbit(tmp_path_factory):
    server = RabbitServer(tmp_path_factory.mktemp("rabbit"))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def guard():
    guard = Guard([Network("127.0.0.0/8"), Network("::1")])
    yield guard
    guard.close()


class Consumer:
    """Reads a queue in a thread of its own, and begins anew when the server is gone."""

    def __init__(self, port: int, address: str) -> None:
        self.messages: list[Message] = []
        self._url, self._address = f"amqp://127.0.0.1:{port}", address
        self._ending, self._reading = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.is_set():
            with suppress(ProtonException, OSError):
                self._read()
            self._ending.wait(0.1)

    def _read(self) -> None:
        connection = BlockingConnection(self._url, timeout=10, allowed_mechs="ANONYMOUS")
        try:
            receiver = connection.create_receiver(self._address, credit=100)
            self._reading.set()
            while not self._ending.is_set():
                with suppress(TimeoutError, ProtonException):
                    if connection.disconnected:
                        return
                    self.messages.append(receiver.receive(timeout=0.2))
                    receiver.accept()
        finally:
            with suppress(ProtonException, OSError):
                connection.close()

    async def ready(self) -> None:
        assert await asyncio.to_thread(self._reading.wait, 20)

    def close(self) -> None:
        self._ending.set()
        self._thread.join(20)


class RabbitPeer(Peer):
    port = 0

    def __init__(self, server: RabbitServer) -> None:
        self._server = server
        self.port = server.port
        number = next(_numbers)
        assert number < QUEUES
        self.address = f"/amq/queue/q{number}"
        self.consumer = Consumer(server.port, self.address)

    def new_sender(self, guard):
        return AmqpSender(guard, self._server.ca_file)

    def target(self, mode="binary", *, owner="owner", **settings):
        settings = {"address": self.address, "sendersettlementmode": "unsettled", "mode": mode, **settings}
        return Target(owner, "AMQP", self.uri("127.0.0.1", self.port), settings, 10.0)

    def secure(self, credential=ALICE):
        uri = f"amqps://localhost:{self._server.secure_port}"
        return replace(self.target(), uri=uri, credential=credential)

    def wrong_credential(self):
        return replace(self.target(), credential=Plain("alice", "wr0ng"))

    def uri(self, host, port):
        return f"amqp://{host}:{port}"

    async def received(self, count, seconds=20.0):
        deadline = time.monotonic() + seconds
        while len(self.consumer.messages) < count and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        return [_read(message) for message in list(self.consumer.messages)]

    def expected(self, event, mode):
        # This version keeps messages in the form of AMQP 0.9.1, which always have a body.
        return replace(event, data=b"") if mode == "binary" and event.data is None else event

    async def kill(self):
        await asyncio.to_thread(self._server.kill)

    async def start(self):
        await asyncio.to_thread(self._server.start)


def _read(message: Message) -> Event:
    body = None if message.body is None else bytes(cast("bytes", message.body))
    content_type = (
        None if message.content_type == "None" else str(message.content_type)
    )  # Proton's way to say none
    if content_type == "application/cloudevents+json":
        return read_structured(body or b"")
    found: dict[str, Any] = {
        name.removeprefix("cloudEvents_"): value
        for name, value in cast("Any", message.properties or {}).items()
    }
    attributes = in_text(found)
    return Event(attributes | ({"datacontenttype": content_type} if content_type else {}), body)


@pytest.fixture
async def peer(rabbit):
    peer = RabbitPeer(rabbit)
    await peer.consumer.ready()
    yield peer
    await asyncio.to_thread(peer.consumer.close)


class TestAmqpContract(ProtocolContract):
    @pytest.fixture
    async def peer(self, rabbit):
        peer = RabbitPeer(rabbit)
        await peer.consumer.ready()
        yield peer
        await asyncio.to_thread(peer.consumer.close)


@pytest.fixture
async def sender(guard, rabbit):
    sender = AmqpSender(guard, rabbit.ca_file)
    yield sender
    await sender.close()


async def test_booleans_and_integers_keep_their_types(peer, sender):
    event = Event(REQUIRED | {"flag": True, "count": -7, "n": "7", "time": "2026-01-01T00:00:00.1200+01:00"})
    assert (await sender.send(peer.target(), payloads(event))).verdict is Verdict.DONE
    await peer.received(1)
    properties = peer.consumer.messages[0].properties
    assert properties["cloudEvents_flag"] is True
    assert (properties["cloudEvents_count"], type(properties["cloudEvents_count"])) == (-7, int)
    assert properties["cloudEvents_n"] == "7"
    assert properties["cloudEvents_time"] == "2026-01-01T00:00:00.1200+01:00"


async def test_messages_are_durable_and_carry_the_trace(peer, sender):
    traced = [Payload(Recorded(0, 0, Arrival(Event(REQUIRED), "default", "default", "00-ab-cd-01", "a=b")))]
    assert (await sender.send(peer.target(), traced)).verdict is Verdict.DONE
    await peer.received(1)
    [message] = peer.consumer.messages
    assert message.durable
    assert (message.properties["traceparent"], message.properties["tracestate"]) == ("00-ab-cd-01", "a=b")


async def test_the_address_may_be_in_the_uri(peer, sender):
    target = peer.target()
    uri = f"{target.uri}/{target.settings['address'].replace('/', '%2F')}"
    outcome = await sender.send(replace(target, uri=uri, settings={"mode": "binary"}), payloads())
    assert outcome.verdict is Verdict.DONE
    assert len(await peer.received(1)) == 1


async def test_settled_messages_arrive(peer, sender):
    events = numbered(100)
    target = peer.target(sendersettlementmode="settled")
    outcomes = await asyncio.gather(*(sender.send(target, payloads(event)) for event in events))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}
    assert ids(await peer.received(100)) == ids(events)


@pytest.mark.parametrize("credential", [ALICE, Token("Bearer", "s3cret", 0.0)])
async def test_tls_with_a_credential(peer, sender, credential):
    outcome = await sender.send(peer.secure(credential), payloads())
    assert outcome.verdict is Verdict.DONE, outcome
    assert len(await peer.received(1)) == 1


async def test_a_certificate_that_nobody_vouches_for(peer, guard):
    sender = AmqpSender(guard)
    outcome = await sender.send(peer.secure(), payloads())
    assert outcome.verdict is Verdict.AGAIN
    assert "CERTIFICATE_VERIFY_FAILED" in outcome.reason
    await sender.close()


async def test_a_refused_credential_is_not_tried_again(peer, sender):
    outcome = await sender.send(peer.wrong_credential(), payloads())
    assert outcome.verdict is Verdict.NEVER
    assert "refused the credential" in outcome.reason


async def test_a_node_that_is_not_there_harms_no_other_link(peer, sender):
    good, bad = peer.target(owner="good"), peer.target(owner="bad", address="/exchange/nowhere/key")
    assert (await sender.send(good, payloads())).verdict is Verdict.DONE
    connected = connections_to(peer.port)
    outcomes = await asyncio.gather(
        *(sender.send(target, payloads()) for _ in range(10) for target in (good, bad))
    )
    assert {outcome.verdict for outcome in outcomes[0::2]} == {Verdict.DONE}
    assert {outcome.verdict for outcome in outcomes[1::2]} == {Verdict.AGAIN}
    assert all("not-found" in outcome.reason for outcome in outcomes[1::2])
    assert connections_to(peer.port) == connected


async def test_a_full_queue_is_tried_again(peer, sender):
    """This version of RabbitMQ has no word for it: it ends the connection."""
    target = peer.target(address="/amq/queue/full")
    assert (await sender.send(target, payloads())).verdict is Verdict.DONE
    outcome = await sender.send(target, payloads())
    assert (outcome.verdict, outcome.reason != "") == (Verdict.AGAIN, True)


async def test_links_of_one_name_do_not_meet(peer, sender):
    other = RabbitPeer(peer._server)
    targets = [each.target(owner=each.address, linkname="the-link") for each in (peer, other)]
    outcomes = await asyncio.gather(*(sender.send(target, payloads()) for target in targets * 3))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}
    assert len(await peer.received(3)) == len(await other.received(3)) == 3
    await asyncio.to_thread(other.consumer.close)


class Node(MessagingHandler):
    """A container that listens, and does with each message what it is told."""

    def __init__(self, port: int, does: str, credit: int) -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self.port, self._does, self._credit = port, does, credit
        self.listening = threading.Event()
        self.messages: list[Message] = []
        self.links: list[tuple[str, str, dict[str, object], int]] = []

    def on_start(self, event):
        self.acceptor = event.container.listen(f"127.0.0.1:{self.port}")
        self.listening.set()

    def on_link_opening(self, event):
        link = event.link
        link.target.copy(link.remote_target)
        link.source.copy(link.remote_source)
        if self._does == "limit":
            link.max_message_size = 100
        self.links.append(
            (
                link.name,
                link.remote_target.address,
                dict(link.remote_properties or {}),
                link.remote_snd_settle_mode,
            )
        )

    def on_link_opened(self, event):
        event.receiver.flow(self._credit)
        if self._does == "detach":
            event.link.condition = _condition("amqp:resource-deleted")
            event.link.close()

    def on_message(self, event):
        self.messages.append(event.message)
        match self._does:
            case "reject":
                event.delivery.local.condition = _condition("amqp:decode-error")
                event.delivery.update(Delivery.REJECTED)
            case "release":
                event.delivery.update(Delivery.RELEASED)
            case "modify":
                event.delivery.update(Delivery.MODIFIED)
            case "close":
                event.connection.condition = _condition("amqp:connection:forced")
                event.connection.close()
                return
            case _:
                event.delivery.update(Delivery.ACCEPTED)
        event.delivery.settle()


def _condition(name):
    return Condition(name, "because")


@pytest.fixture
def node() -> Iterator[Callable[..., tuple[int, Node]]]:
    ending = threading.Event()
    threads: list[threading.Thread] = []

    def run(container: Container, handler: Node) -> None:
        container.timeout = 0.05
        container.start()
        while not ending.is_set():
            container.process()
        handler.acceptor.close()
        container.stop()
        while container.process():
            pass

    def start(does: str, credit: int = 10) -> tuple[int, Node]:
        handler = Node(free_port(), does, credit)
        threads.append(threading.Thread(target=run, args=(Container(handler), handler), daemon=True))
        threads[-1].start()
        assert handler.listening.wait(10)
        return handler.port, handler

    yield start
    ending.set()
    for thread in threads:
        thread.join(10)


def target_of(port, **settings):
    return Target("owner", "AMQP", f"amqp://127.0.0.1:{port}/node", {"mode": "binary", **settings}, 3.0)


@pytest.mark.parametrize(
    ("does", "verdict", "said"),
    [
        ("accept", Verdict.DONE, ""),
        ("reject", Verdict.NEVER, "amqp:decode-error: because"),
        ("release", Verdict.AGAIN, "released"),
        ("modify", Verdict.AGAIN, "modified"),
        ("close", Verdict.AGAIN, "amqp:connection:forced: because"),
        ("detach", Verdict.AGAIN, "amqp:resource-deleted: because"),
        ("limit", Verdict.NEVER, "takes 100"),
    ],
)
async def test_every_outcome(guard, node, does, verdict, said):
    port, _ = node(does)
    sender = AmqpSender(guard)
    outcome = await sender.send(target_of(port), payloads())
    assert outcome.verdict is verdict, outcome
    assert said in outcome.reason
    await sender.close()


async def test_name_address_properties_and_settlement_of_the_link(guard, node):
    port, handler = node("accept")
    sender = AmqpSender(guard)
    target = target_of(
        port, linkname="mine", linkproperties={"x-opt-team": "a", "n": 3}, sendersettlementmode="settled"
    )
    assert (await sender.send(target, payloads())).verdict is Verdict.DONE
    assert handler.links == [("mine", "node", {"x-opt-team": "a", "n": 3}, 1)]
    await sender.close()


@pytest.mark.parametrize("data", [None, b"", b"x"])
async def test_no_data_is_no_data_section(guard, node, data):
    port, handler = node("accept")
    sender = AmqpSender(guard)
    assert (await sender.send(target_of(port), payloads(Event(REQUIRED, data)))).verdict is Verdict.DONE
    assert handler.messages[0].body == data
    await sender.close()


async def test_without_credit_nothing_is_sent_and_the_time_is_kept(guard, node):
    port, _ = node("accept", credit=2)
    sender = AmqpSender(guard)
    target = replace(target_of(port), timeout=0.5)
    outcomes = await asyncio.gather(*(sender.send(target, payloads()) for _ in range(5)))
    assert sum(outcome.verdict is Verdict.DONE for outcome in outcomes) == 2
    assert sum(outcome.verdict is Verdict.AGAIN for outcome in outcomes) == 3
    await sender.close()


async def test_the_event_loop_of_the_service(peer, guard, rabbit):
    """The dispatcher runs on uvloop, whose transports are not asyncio's."""
    events = numbered(100)

    async def deliver(targets):
        sender = AmqpSender(guard, rabbit.ca_file)
        sending = (sender.send(target, payloads(event)) for target in targets for event in events)
        outcomes = await asyncio.gather(*sending)
        await sender.close()
        return outcomes

    outcomes = await asyncio.to_thread(uvloop.run, deliver([peer.target(), peer.secure()]))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}, outcomes[0]
    assert ids(await peer.received(200)) == ids(events)


async def test_equal_servers_and_credentials_share_a_connection(peer, sender):
    before = connections_to(peer.port)
    for owner in ("a", "b"):
        await sender.send(peer.target(owner=owner), payloads())
    assert connections_to(peer.port) == before + 1
    await sender.forget("a")
    assert connections_to(peer.port) == before + 1
    await sender.forget("b")
    await eventually(lambda: connections_to(peer.port) == before)
