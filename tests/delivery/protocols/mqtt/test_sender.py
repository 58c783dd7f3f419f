"""Delivery to a real Mosquitto: the contract for MQTT 3.1.1 and 5, and what is MQTT's own. Paho reads what arrived."""

import asyncio
import threading
import time
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
import uvloop
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from tests.delivery.protocols.contract import (
    JSON,
    REQUIRED,
    Peer,
    ProtocolContract,
    connections_to,
    eventually,
    ids,
    numbered,
    payloads,
    read_structured,
)
from tests.mosquitto_server import MosquittoServer

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.mqtt import connection as mqtt_connection
from headrace.delivery.protocols.mqtt import packets as mqtt_packets
from headrace.delivery.protocols.mqtt.sender import MqttSender
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network
from headrace.events import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.secrets.credential import Plain, Token

ALICE = Plain("alice", "s3cret")
_numbers = count()


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory):
    server = MosquittoServer(tmp_path_factory.mktemp("mosquitto"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def guard():
    guard = Guard([Network("127.0.0.0/8"), Network("::1")])
    yield guard
    guard.close()


class Consumer:
    """Paho, in a thread of its own, with a session that the server keeps while one of the two is away.

    It acknowledges nothing (QoS 0): else it would end a dying connection before it has read all that came.
    """

    def __init__(self, port: int, topic: str) -> None:
        self.messages: list[paho.MQTTMessage] = []
        self._topic = topic
        self._subscribed = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, f"c{next(_numbers)}", protocol=paho.MQTTv5)
        keep = Properties(PacketTypes.CONNECT)
        keep.SessionExpiryInterval = 0xFFFFFFFF  # Mosquitto takes any other for over when it starts
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = lambda client, *_: client.subscribe(self._topic, qos=0)
        self._client.on_disconnect = lambda *_: self._subscribed.clear()
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = lambda _client, _data, message: self.messages.append(message)
        self._client.connect("127.0.0.1", port, clean_start=False, properties=keep)
        self._client.loop_start()

    async def ready(self) -> None:
        assert await asyncio.to_thread(self._subscribed.wait, 20)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class MqttPeer(Peer):
    port = 0

    def __init__(self, server: MosquittoServer, protocol: str, modes, qos: int = 1) -> None:
        self._server = server
        self.port = server.port
        self.modes = modes
        self._protocol = protocol
        self._qos = qos
        self.topic = f"open/{next(_numbers)}"
        self.consumer = Consumer(server.port, self.topic)

    def new_sender(self, guard):
        return MqttSender(guard, self._server.ca_file)

    def target(self, mode="", *, owner="owner", **settings):
        return Target(
            owner,
            self._protocol,
            self.uri("127.0.0.1", self.port),
            {
                "topicname": self.topic,
                "qos": self._qos,
                "retain": False,
                "mode": mode or self.modes[0],
                **settings,
            },
            5.0,
        )

    def secure(self, credential=ALICE, **settings):
        return replace(
            self.target(**settings),
            uri=f"mqtts://localhost:{self._server.secure_port}",
            credential=credential,
        )

    def wrong_credential(self):
        return self.secure(Plain("alice", "wr0ng"))

    def uri(self, host, port):
        return f"mqtt://{host}:{port}"

    async def received(self, count, seconds=20.0):
        deadline = time.monotonic() + seconds
        while len(self.consumer.messages) < count and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        return [_read(message) for message in list(self.consumer.messages)]

    async def kill(self):
        self._server.kill()

    async def start(self):
        self._server.start()
        await self.consumer.ready()

    def expected(self, event, mode):
        if mode == "binary" and event.data is None and event.datacontenttype is not None:
            return replace(event, data=b"")
        return event


def _read(message: paho.MQTTMessage) -> Event:
    properties: Any = message.properties
    payload = bytes(message.payload)
    content_type = getattr(properties, "ContentType", None)
    if content_type is None and not hasattr(properties, "UserProperty"):
        return read_structured(payload)
    if content_type == "application/cloudevents+json":
        return read_structured(payload)
    attributes = dict(properties.UserProperty)
    if content_type is None:
        return Event(attributes, payload or None)
    return Event(attributes | {"datacontenttype": content_type}, payload)


async def _ready(peer: MqttPeer):
    try:
        await peer.consumer.ready()
        await asyncio.to_thread(peer._server.save)
        yield peer
    finally:
        await asyncio.to_thread(peer.consumer.close)


class TestMqtt5Contract(ProtocolContract):
    @pytest.fixture
    async def peer(self, mosquitto):
        async for peer in _ready(MqttPeer(mosquitto, "MQTT5", ("binary", "structured"))):
            yield peer


class TestMqtt3Contract(ProtocolContract):
    @pytest.fixture
    async def peer(self, mosquitto):
        async for peer in _ready(MqttPeer(mosquitto, "MQTT3", ("structured",), qos=2)):
            yield peer


@pytest.fixture(params=["MQTT3", "MQTT5"])
async def peer(request, mosquitto):
    async for peer in _ready(MqttPeer(mosquitto, request.param, ("structured",))):
        yield peer


@pytest.fixture
async def peer5(mosquitto):
    async for peer in _ready(MqttPeer(mosquitto, "MQTT5", ("binary", "structured"))):
        yield peer


@pytest.fixture
async def sender(guard, mosquitto):
    sender = MqttSender(guard, mosquitto.ca_file)
    yield sender
    await sender.close()


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_every_quality_of_service(peer, sender, qos):
    events = numbered(200)
    outcomes = await asyncio.gather(*(sender.send(peer.target(qos=qos), payloads(event)) for event in events))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}
    assert ids(await peer.received(200)) == ids(events)
    assert len(peer.consumer.messages) == 200


async def test_a_retained_event_is_there_for_who_comes_later(peer, sender, mosquitto):
    await sender.send(peer.target(retain=True, topicname="open/kept"), payloads())
    late = Consumer(mosquitto.port, "open/kept")
    await eventually(lambda: late.messages)
    assert late.messages[0].retain
    await asyncio.to_thread(late.close)


async def test_expiry_and_user_properties(peer5, sender):
    target = peer5.target("structured", expiry=77, userproperties={"team": "größe", "n": "1"})
    assert (await sender.send(target, payloads())).verdict is Verdict.DONE
    await peer5.received(1)
    properties = peer5.consumer.messages[0].properties
    assert 70 <= properties.MessageExpiryInterval <= 77
    assert dict(properties.UserProperty) == {"team": "größe", "n": "1"}


async def test_the_trace_goes_along_where_it_is_not_read_as_attributes(peer5, sender):
    traced = [Payload(Recorded(0, 0, Arrival(Event(REQUIRED), "default", "default", "00-ab-cd-01", "a=b")))]
    for mode in ("structured", "binary"):
        assert (await sender.send(peer5.target(mode), traced)).verdict is Verdict.DONE
    await peer5.received(2)
    structured, binary = (dict(message.properties.UserProperty) for message in peer5.consumer.messages)
    assert structured == {"traceparent": "00-ab-cd-01", "tracestate": "a=b"}
    assert binary == REQUIRED


@pytest.mark.parametrize("credential", [ALICE, Token("Bearer", "s3cret", 0.0)])
async def test_tls_with_a_credential(peer, sender, credential):
    target = replace(peer.secure(credential), settings=peer.target(topicname="x/y").settings)
    outcome = await sender.send(target, payloads())
    assert outcome.verdict is Verdict.DONE, outcome


async def test_a_certificate_that_nobody_vouches_for(peer, guard):
    sender = MqttSender(guard)
    outcome = await sender.send(peer.secure(), payloads())
    assert outcome.verdict is Verdict.AGAIN
    assert "CERTIFICATE_VERIFY_FAILED" in outcome.reason
    await sender.close()


async def test_a_refused_credential_has_the_servers_code(peer, sender):
    outcome = await sender.send(peer.wrong_credential(), payloads())
    assert (outcome.verdict, outcome.status) == (Verdict.NEVER, 0x87 if peer._protocol == "MQTT5" else 5)
    assert "not authorized" in outcome.reason


@pytest.mark.parametrize("qos", [1, 2])
async def test_a_topic_that_may_not_be_written_to(peer5, sender, qos):
    outcome = await sender.send(peer5.target(topicname="shut/x", qos=qos), payloads())
    assert (outcome.verdict, outcome.status) == (Verdict.NEVER, 0x87)
    assert (await sender.send(peer5.target(), payloads())).verdict is Verdict.DONE


async def test_what_the_server_finds_too_large_harms_nobody_else(peer5, sender, mosquitto):
    assert (await sender.send(peer5.target(), payloads())).verdict is Verdict.DONE
    before = connections_to(mosquitto.port)
    large = Event(REQUIRED | JSON, b'"' + b"x" * 1_500_000 + b'"')
    outcome = await sender.send(peer5.target(), payloads(large))
    assert (outcome.verdict, outcome.status) == (Verdict.NEVER, 0x95)
    outcome = await sender.send(peer5.target(qos=0), payloads(large))
    assert (outcome.verdict, outcome.status) == (Verdict.NEVER, 0x95)
    assert connections_to(mosquitto.port) == before


async def test_an_attribute_that_mqtt_cannot_write(peer5, sender):
    event = Event(REQUIRED | {"subject": "x" * 70_000})
    outcome = await sender.send(peer5.target("binary"), payloads(event))
    assert outcome.verdict is Verdict.NEVER
    assert "65535" in outcome.reason
    assert (await sender.send(peer5.target("structured"), payloads(event))).verdict is Verdict.DONE


async def test_the_event_loop_of_the_service(peer, guard, mosquitto):
    """The dispatcher runs on uvloop, whose transports are not asyncio's."""
    events = numbered(100)

    async def deliver(targets):
        sender = MqttSender(guard, mosquitto.ca_file)
        sending = (sender.send(target, payloads(event)) for target in targets for event in events)
        outcomes = await asyncio.gather(*sending)
        await sender.close()
        return outcomes

    outcomes = await asyncio.to_thread(uvloop.run, deliver([peer.target(), peer.secure()]))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}, outcomes[0]
    assert ids(await peer.received(200)) == ids(events)


async def test_equal_servers_and_credentials_share_a_connection(peer5, sender, mosquitto):
    before = connections_to(mosquitto.port)
    for owner in ("a", "b", "c"):
        await sender.send(peer5.target(owner=owner), payloads())
    assert connections_to(mosquitto.port) == before + 1
    await sender.forget("a")
    await sender.forget("b")
    assert connections_to(mosquitto.port) == before + 1
    await sender.forget("c")
    await eventually(lambda: connections_to(mosquitto.port) == before)


async def test_a_connection_that_only_waits_is_kept_alive(peer5, sender, mosquitto, monkeypatch):
    # Mosquitto ends a connection that is silent for one and a half times this.
    monkeypatch.setattr(mqtt_connection, "_KEEP_ALIVE", 1)
    assert (await sender.send(peer5.target(), payloads())).verdict is Verdict.DONE
    before = connections_to(mosquitto.port)
    await asyncio.sleep(2.5)
    assert connections_to(mosquitto.port) == before


class TestScriptedServer:
    """What Mosquitto never does, from a socket that says it: codes, limits, silence, nonsense."""

    @pytest.fixture
    async def serve(self):
        """Start a server that answers each packet, by its type, with the bytes of a table; it returns its port."""
        servers, seen = [], []

        async def start(answers):
            async def talk(reader, writer):
                try:
                    while True:
                        head = await reader.readexactly(2)
                        length, shift = head[1] & 0x7F, 7
                        more = head[1]
                        while more & 0x80:
                            more = (await reader.readexactly(1))[0]
                            length |= (more & 0x7F) << shift
                            shift += 7
                        body = await reader.readexactly(length)
                        seen.append((head[0] >> 4, body))
                        writer.write(answers.get(head[0] >> 4, b""))
                except (asyncio.IncompleteReadError, OSError):
                    writer.close()

            server = await asyncio.start_server(talk, "127.0.0.1", 0)
            servers.append(server)
            return server.sockets[0].getsockname()[1], seen

        yield start
        for server in servers:
            server.close()

    @staticmethod
    def target(port, **settings):
        settings = {"topicname": "t", "qos": 1, "retain": False, "mode": "structured", **settings}
        return Target("owner", "MQTT5", f"mqtt://127.0.0.1:{port}", settings, 1.0)

    @pytest.mark.parametrize(
        ("connack", "settings", "code"),
        [
            (b"\x20\x05\x00\x00\x02\x24\x00", {"qos": 1}, 0x9B),
            (b"\x20\x05\x00\x00\x02\x24\x01", {"qos": 2}, 0x9B),
            (b"\x20\x05\x00\x00\x02\x25\x00", {"retain": True}, 0x9A),
            (b"\x20\x08\x00\x00\x05\x27\x00\x00\x00\x30", {}, 0x95),
        ],
    )
    async def test_limits_that_a_server_names_are_kept(self, serve, guard, connack, settings, code):
        port, seen = await serve({1: connack})
        sender = MqttSender(guard)
        outcome = await sender.send(self.target(port, **settings), payloads())
        assert (outcome.verdict, outcome.status) == (Verdict.NEVER, code)
        assert 3 not in {kind for kind, _ in seen}
        await sender.close()

    @pytest.mark.parametrize(
        ("code", "verdict"),
        [
            (0x10, Verdict.DONE),
            (0x97, Verdict.AGAIN),
            (0x80, Verdict.AGAIN),
            (0x90, Verdict.NEVER),
            (0x99, Verdict.NEVER),
        ],
    )
    @pytest.mark.parametrize("qos", [1, 2])
    async def test_codes_of_acknowledgements(self, serve, guard, code, verdict, qos):
        said = b"\x1f\x00\x02no"
        answer = b"\x00\x01" + bytes((code, len(said))) + said
        first = bytes((0x40 if qos == 1 else 0x50, len(answer))) + answer
        port, _ = await serve({1: b"\x20\x03\x00\x00\x00", 3: first, 6: b"\x70\x02\x00\x01"})
        sender = MqttSender(guard)
        outcome = await sender.send(self.target(port, qos=qos), payloads())
        assert outcome.verdict is verdict
        if verdict is not Verdict.DONE:
            assert outcome.status == code
            assert outcome.reason.endswith("no")
        await sender.close()

    async def test_no_more_are_under_way_than_the_server_takes(self, serve, guard):
        port, seen = await serve({1: b"\x20\x06\x00\x00\x03\x21\x00\x02"})
        sender = MqttSender(guard)
        target = replace(self.target(port), timeout=0.3)
        outcomes = await asyncio.gather(*(sender.send(target, payloads()) for _ in range(5)))
        assert {outcome.verdict for outcome in outcomes} == {Verdict.AGAIN}
        assert sum(kind == 3 for kind, _ in seen) == 2
        await sender.close()

    async def test_a_connection_that_acknowledges_nothing_is_given_up(self, serve, guard, monkeypatch):
        monkeypatch.setattr(mqtt_connection, "_STUCK_SECONDS", 0.1)
        monkeypatch.setattr(mqtt_connection, "_KEEP_ALIVE", 0.4)
        monkeypatch.setattr(mqtt_packets, "connect", lambda *_: b"\x10\x00")
        port, _ = await serve({1: b"\x20\x06\x00\x00\x03\x21\x00\x01", 12: b"\xd0\x00"})
        sender = MqttSender(guard)
        first, second = await asyncio.gather(*(sender.send(self.target(port), payloads()) for _ in range(2)))
        assert "acknowledged nothing" in first.reason
        assert "acknowledged nothing" in second.reason
        await sender.close()

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (b"\xe0\x02\x8b\x00", "0x8b"),
            (b"\xe0\x00", "ended the connection"),
            (b"\x40\x01\x00", "too short"),
            (b"\x30\x00", "type 3"),
            (b"\x40\xff\xff\xff\x7f", "bytes"),
            (b"\x40\xff\xff\xff\xff\x7f", "four bytes"),
            (b"\x40\x05\x00\x01\x00\x01\x7e", "0x7e"),
        ],
    )
    async def test_a_server_that_ends_or_spoils_it(self, serve, guard, reply, said):
        port, _ = await serve({1: b"\x20\x03\x00\x00\x00", 3: reply})
        sender = MqttSender(guard)
        outcome = await sender.send(self.target(port), payloads())
        assert outcome.verdict is Verdict.AGAIN
        assert said in outcome.reason
        await sender.close()

    @pytest.mark.parametrize(("code", "verdict"), [(0x88, Verdict.AGAIN), (0x86, Verdict.NEVER)])
    async def test_codes_of_a_refused_connection(self, serve, guard, code, verdict):
        port, _ = await serve({1: bytes((0x20, 3, 0, code, 0))})
        sender = MqttSender(guard)
        outcome = await sender.send(self.target(port), payloads())
        assert (outcome.verdict, outcome.status) == (verdict, code)
        await sender.close()
