"""Delivery to a real Kafka broker: the contract over SASL, and what is Kafka's own. Read with another client library."""

import asyncio
import time
from dataclasses import replace
from itertools import count

import confluent_kafka
import pytest
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
from tests.secured_broker import PASSWORD, USER, SecuredBroker, unsecured_token

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.kafka.sender import KafkaSender
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network
from headrace.events import DataKind, Event
from headrace.events.recorded import Arrival, Recorded
from headrace.secrets.credential import Plain, Token

ALICE = Plain(USER, PASSWORD)
_numbers = count()


@pytest.fixture(scope="module")
def secured_broker(tmp_path_factory):
    broker = SecuredBroker(tmp_path_factory.mktemp("secured-kafka"))
    broker.start()
    broker.add_scram_users()
    yield broker
    broker.kill()


@pytest.fixture
def guard():
    guard = Guard([Network("127.0.0.0/8"), Network("::1")])
    yield guard
    guard.close()


@pytest.fixture
async def sender(guard):
    sender = KafkaSender(guard)
    yield sender
    await sender.close()


@pytest.fixture
def topic(secured_broker):
    return new_topic(secured_broker)


def new_topic(broker, **config):
    name = f"topic-{next(_numbers)}"
    broker.new_topic(name, **config)
    return name


def target(port, topic, credential=None, scheme="kafka", timeout=10.0, owner="owner", **settings):
    settings = {"mode": "binary", "topicname": topic} | settings
    return Target(owner, "KAFKA", f"{scheme}://127.0.0.1:{port}", settings, timeout, credential)


def read_records(broker, topic, count, seconds=20.0):
    """Read a topic from its beginning."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "test",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in (0, 1)])
    deadline, records = time.monotonic() + seconds, []
    while time.monotonic() < deadline:
        found = consumer.consume(1000, 0.1)
        records += [record for record in found if record.error() is None]
        if len(records) >= count and not found:
            break
    consumer.close()
    return records


def read(record):
    headers = {name: value.decode() for name, value in record.headers() or []}
    if headers.get("content-type", "").startswith("application/cloudevents"):
        return read_structured(record.value())
    attributes = {name[3:]: value for name, value in headers.items() if name.startswith("ce_")}
    if "content-type" in headers:
        attributes["datacontenttype"] = headers["content-type"]
    return Event(attributes, record.value())


class KafkaPeer(Peer):
    def __init__(self, broker):
        self._broker = broker
        self._topic = new_topic(broker)

    @property
    def port(self):
        return self._broker.sasl

    def new_sender(self, guard):
        return KafkaSender(guard)

    def target(self, mode="binary", *, owner="owner", **settings):
        return target(self.port, self._topic, ALICE, mode=mode, owner=owner, **settings)

    def uri(self, host, port):
        return f"kafka://{host}:{port}"

    async def received(self, count, seconds=20.0):
        records = await asyncio.to_thread(read_records, self._broker, self._topic, count, seconds)
        return [read(record) for record in sorted(records, key=lambda record: record.timestamp()[1])]

    async def kill(self):
        await asyncio.to_thread(self._broker.kill)

    async def start(self):
        await asyncio.to_thread(self._broker.start)

    def wrong_credential(self):
        return replace(self.target(), credential=Plain(USER, "wr0ng"))


class TestKafkaContract(ProtocolContract):
    @pytest.fixture
    def peer(self, secured_broker):
        return KafkaPeer(secured_broker)


async def send(sender, *arguments, event=None, **options):
    return await sender.send(target(*arguments, **options), payloads(event) if event else payloads())


@pytest.mark.parametrize("mode", ["binary", "structured"])
async def test_keys(secured_broker, sender, topic, mode):
    """By default the extension `partitionkey`; another attribute by a setting; none where the event has none."""
    events = [
        (Event(REQUIRED | {"partitionkey": "größe"}, b"1"), {}, "größe".encode()),
        (Event(REQUIRED | {"count": 7}, b"1"), {"partitionkeyextractor": "count"}, b"7"),
        (Event(REQUIRED | {"partitionkey": "k"}, b"1"), {"partitionkeyextractor": "subject"}, None),
        (Event(REQUIRED, None), {}, None),
        (Event(REQUIRED | {"partitionkey": "k"}, None), {}, b"k"),
    ]
    for event, settings, _ in events:
        outcome = await send(sender, secured_broker.port, topic, event=event, mode=mode, **settings)
        assert outcome.verdict is Verdict.DONE
    records = read_records(secured_broker, topic, len(events))
    found = sorted(records, key=lambda record: record.timestamp()[1])
    assert sorted(str(record.key()) for record in found) == sorted(str(key) for _, _, key in events)


async def test_equal_keys_stay_in_one_partition_and_in_order(secured_broker, sender, topic):
    events = [
        Event({**event.attributes, "partitionkey": f"key-{number % 5}"}, event.data)
        for number, event in enumerate(numbered(200))
    ]
    for chunk in range(0, 200, 5):
        await asyncio.gather(
            *(send(sender, secured_broker.port, topic, event=event) for event in events[chunk : chunk + 5])
        )
    records = read_records(secured_broker, topic, 200)
    for key in {record.key() for record in records}:
        own = [record for record in records if record.key() == key]
        assert len({record.partition() for record in own}) == 1
        numbers = [int(read(record).id[1:]) for record in sorted(own, key=lambda each: each.offset())]
        assert numbers == sorted(numbers)


async def test_headers_are_those_of_the_binding_and_the_trace(secured_broker, sender, topic):
    event = Event(REQUIRED | {"count": 3}, b'{"a": 1}', DataKind.JSON)
    arrival = Arrival(event, "default", "default", "00-ab-cd-01", "vendor=1")
    payload = Payload(Recorded(0, 0, arrival))
    assert (await sender.send(target(secured_broker.port, topic), [payload])).verdict is Verdict.DONE
    [record] = read_records(secured_broker, topic, 1)
    assert dict(record.headers()) == {
        **{f"ce_{name}": value.encode() for name, value in REQUIRED.items()},
        "ce_count": b"3",
        "content-type": b"application/json",
        "traceparent": b"00-ab-cd-01",
        "tracestate": b"vendor=1",
    }


@pytest.mark.parametrize("acks", ["all", "1", "0"])
async def test_acknowledgements(secured_broker, sender, topic, acks):
    outcome = await send(sender, secured_broker.port, topic, acks=acks, clientid="me")
    assert outcome.verdict is Verdict.DONE
    if acks != "0":  # nobody knows what became of it: that is what it asks for
        assert len(read_records(secured_broker, topic, 1)) == 1


async def test_the_topic_of_the_address(secured_broker, sender, topic):
    there = replace(
        target(secured_broker.port, topic),
        uri=f"kafka://127.0.0.1:1,127.0.0.1:{secured_broker.port}/{topic}",
        settings={"mode": "binary"},
    )
    assert (await sender.send(there, payloads())).verdict is Verdict.DONE
    assert len(read_records(secured_broker, topic, 1)) == 1


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("secure", [False, True])
async def test_passwords(secured_broker, guard, topic, mechanism, secure):
    sender = KafkaSender(guard, secured_broker.ca_file)
    port, scheme = (secured_broker.both, "kafkas") if secure else (secured_broker.sasl, "kafka")
    good = await send(sender, port, topic, ALICE, scheme, saslmechanism=mechanism)
    bad = await send(sender, port, topic, Plain(USER, "wr0ng"), scheme, saslmechanism=mechanism)
    await sender.close()
    assert good.verdict is Verdict.DONE, good
    assert bad.verdict is Verdict.NEVER, bad
    assert "SASL_AUTHENTICATION_FAILED" in bad.reason
    assert bad.status == 58


async def test_tokens(secured_broker, sender, topic):
    token = Token("Bearer", unsecured_token(USER), 0.0)
    good = await send(sender, secured_broker.sasl, topic, token)
    bad = await send(sender, secured_broker.sasl, topic, Token("Bearer", "wr0ng", 0.0))
    assert good.verdict is Verdict.DONE, good
    assert bad.verdict is Verdict.NEVER, bad
    assert "wr0ng" not in repr(bad)


async def test_tls(secured_broker, guard, topic):
    sender = KafkaSender(guard, secured_broker.ca_file)
    assert (await send(sender, secured_broker.ssl, topic, scheme="kafkas")).verdict is Verdict.DONE
    await sender.close()


async def test_close_waits_for_no_goodbye(secured_broker, guard, topic):
    """Over TLS asyncio waits half a minute for a broker that has fallen silent."""
    sender = KafkaSender(guard, secured_broker.ca_file)
    assert (await send(sender, secured_broker.ssl, topic, scheme="kafkas")).verdict is Verdict.DONE
    assert connections_to(secured_broker.ssl) > 0
    with secured_broker.silent():
        async with asyncio.timeout(25):
            await sender.close()
        for _ in range(10):  # turns of the loop: what was aborted is closed in the next ones
            await asyncio.sleep(0)
        assert connections_to(secured_broker.ssl) == 0


async def test_an_authority_that_nobody_trusts(secured_broker, sender, topic):
    outcome = await send(sender, secured_broker.ssl, topic, scheme="kafkas")
    assert outcome.verdict is Verdict.AGAIN
    assert "CERTIFICATE_VERIFY_FAILED" in outcome.reason


async def test_an_unknown_topic_may_come(secured_broker, sender):
    name = f"topic-{next(_numbers)}"
    outcome = await send(sender, secured_broker.port, name)
    assert (outcome.verdict, outcome.status) == (Verdict.AGAIN, 3)
    assert f"topic {name!r}: UNKNOWN_TOPIC_OR_PARTITION" in outcome.reason
    secured_broker.new_topic(name)
    assert (await send(sender, secured_broker.port, name)).verdict is Verdict.DONE


async def test_a_topic_without_the_right_to_write(secured_broker, sender, topic):
    secured_broker.forbid(topic)
    outcome = await send(sender, secured_broker.sasl, topic, ALICE)
    assert (outcome.verdict, outcome.status) == (Verdict.NEVER, 29)
    assert "TOPIC_AUTHORIZATION_FAILED" in outcome.reason


async def test_a_record_too_large_harms_no_small_one_of_its_batch(secured_broker, sender):
    topic = new_topic(secured_broker, **{"max.message.bytes": "20000"})
    key = {"partitionkey": "one"}
    small = [Event({**event.attributes, **key}, b"x" * 3000) for event in numbered(20)]
    large = Event(REQUIRED | key, b"x" * 30_000)
    outcomes = await asyncio.gather(
        *(send(sender, secured_broker.port, topic, event=event) for event in [*small, large])
    )
    assert {outcome.verdict for outcome in outcomes[:-1]} == {Verdict.DONE}
    assert (outcomes[-1].verdict, outcomes[-1].status) == (Verdict.NEVER, 10)
    assert "MESSAGE_SIZE_TOO_LARGE" in outcomes[-1].reason
    assert len(read_records(secured_broker, topic, 20)) == 20


async def test_a_broker_that_only_the_metadata_names_is_guarded_too(secured_broker, sender, topic):
    """The broker lets us in, and says that it is at 10.255.255.1: nothing goes there."""
    outcome = await send(sender, secured_broker.elsewhere, topic, timeout=3.0)
    assert outcome.verdict is Verdict.NEVER
    assert "10.255.255.1" in outcome.reason
    assert "delivery.allow_networks" in outcome.reason


async def test_a_name_that_changes_its_address_gains_nothing(secured_broker, topic):
    port = secured_broker.port
    answers = [[(2, 1, 6, "", ("10.0.0.1", port))], [(2, 1, 6, "", ("127.0.0.1", port))]]
    guard = Guard(lookup=lambda *_, **__: answers.pop(0))
    sender = KafkaSender(guard)
    there = replace(target(port, topic), uri=f"kafka://rebinding.example:{port}")
    outcome = await sender.send(there, payloads())
    assert (outcome.verdict, len(answers)) == (Verdict.AGAIN, 1)
    assert "10.0.0.1" in outcome.reason
    await sender.close()
    guard.close()


async def test_subscriptions_with_equal_settings_share_a_producer(secured_broker, sender, topic):
    for owner in "abc":
        await send(sender, secured_broker.port, topic, owner=owner)
    shared = connections_to(secured_broker.port)
    await send(sender, secured_broker.port, topic, owner="d", clientid="another")
    assert connections_to(secured_broker.port) > shared


async def test_a_server_that_answers_with_nonsense(sender):
    """An answer that says it has two gigabytes is not waited for."""

    writers = []

    async def babble(reader, writer):
        writers.append(writer)
        await reader.read(100)
        writer.write(b"\x7f\xff\xff\xff" + b"HTTP/1.1 200 OK\r\n\r\n")

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    outcome = await send(sender, server.sockets[0].getsockname()[1], "t", timeout=5.0)
    server.close()
    for writer in writers:
        writer.close()
        await writer.wait_closed()
    assert outcome.verdict is Verdict.AGAIN
    assert "no acknowledgement" not in outcome.reason


async def test_structured_mode(secured_broker, sender, topic):
    event = Event(REQUIRED | JSON, b'{"a": 1}', DataKind.JSON)
    assert (
        await send(sender, secured_broker.port, topic, event=event, mode="structured")
    ).verdict is Verdict.DONE
    [record] = read_records(secured_broker, topic, 1)
    assert dict(record.headers()) == {"content-type": b"application/cloudevents+json"}
    assert b'{"a": 1}' in record.value()
