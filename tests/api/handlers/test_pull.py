"""Pulling over HTTP: batches, envelopes, acknowledgements and streams, over a real log and a real mailbox."""

import asyncio
import time
from contextlib import asynccontextmanager, closing

import aiohttp
import msgspec
import pytest
from tests.api.application import CHANNEL
from tests.api.consumers import Consumers, subscribe

from headrace.api.handlers import pull
from headrace.api.pull import messages as handing
from headrace.api.pull import stream as streaming
from headrace.errors import StoreUnavailable
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.subscription import parse_subscription

JSON = {"accept": "application/json"}
STREAM = {"accept": "text/event-stream"}


@pytest.fixture
async def consumers(api):
    with closing(Consumers(api, await subscribe(api))) as made:
        yield made


def ids(answer):
    return [event["id"] for event in answer.json]


def shown_ids(answer):
    return [each["event"]["id"] for each in answer.json["events"]]


async def test_a_batch_comes_with_its_cursor_and_is_gone_when_that_is_acknowledged(consumers):
    await consumers.publish(1, 2, 3)
    answer = await consumers.poll("?max=2")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/cloudevents-batch+json")
    assert ids(answer) == ["1", "2"]
    acknowledged = await consumers.ack(upTo=answer.headers["headrace-cursor"])
    assert (acknowledged.status, acknowledged.json) == (200, {"acknowledged": 2})
    assert ids(await consumers.poll()) == ["3"]
    assert consumers.waiting == 1


async def test_an_envelope_says_more_of_each(consumers):
    await consumers.publish(1, 2)
    answer = await consumers.poll(headers=JSON)
    first, second = answer.json["events"]
    assert first["event"] == {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": ""}
    assert (first["position"], first["handed"], second["cursor"]) == (0, 1, answer.json["cursor"])
    assert answer.headers["headrace-cursor"] == answer.json["cursor"]
    assert (await consumers.ack(ids=[second["cursor"]])).json == {"acknowledged": 1}
    released = await consumers.ack(consumer=answer.json["consumer"], release=True)
    assert released.json == {"acknowledged": 0, "released": 1}
    again = await consumers.poll(headers=JSON)
    assert [(each["event"]["id"], each["handed"]) for each in again.json["events"]] == [("1", 2)]


async def test_a_cursor_acknowledges_and_the_rest_comes_again(consumers):
    await consumers.publish(1, 2, 3)
    answer = await consumers.poll(headers=JSON)
    cursor = answer.json["events"][0]["cursor"]
    assert shown_ids(await consumers.poll(f"?cursor={cursor}", JSON)) == ["2", "3"]
    assert consumers.waiting == 2


async def test_data_comes_as_it_was(consumers):
    body = b'{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"b" : 1.50,\n "a":1}}'
    await consumers.api.post({"content-type": "application/cloudevents+json"}, body, CHANNEL)
    consumers.mail(0)
    assert b'{"b" : 1.50,\n "a":1}' in (await consumers.poll()).body


async def test_nothing_is_204_at_once_or_after_the_wait(consumers):
    answer = await consumers.poll()
    assert (answer.status, answer.body) == (204, b"")
    began = time.monotonic()
    assert (await consumers.poll("?wait=1")).status == 204
    assert time.monotonic() - began >= 1
    preferred = await consumers.poll(headers={"prefer": "wait=0"})
    assert preferred.status == 204


async def test_a_poll_answers_as_soon_as_something_comes(consumers, monkeypatch):
    """Not by the look that each request makes once a second."""
    monkeypatch.setattr(pull, "_LOOK_SECONDS", 3600.0)
    async with consumers.api.served() as url, aiohttp.ClientSession(url) as session:
        waiting = asyncio.create_task(session.get(f"{consumers.path}?wait=30"))
        await asyncio.sleep(0.2)
        await consumers.publish(7)
        async with await waiting as answer:
            assert [each["id"] for each in msgspec.json.decode(await answer.read())] == ["7"]


async def test_competing_consumers_get_different_events(consumers):
    await consumers.publish(*range(10))
    one, two = await consumers.poll("?max=6"), await consumers.poll("?max=6")
    assert (ids(one), ids(two)) == ([str(n) for n in range(6)], [str(n) for n in range(6, 10)])
    assert (await consumers.ack(upTo=two.headers["headrace-cursor"])).json == {"acknowledged": 4}
    assert consumers.waiting == 6


async def test_what_is_ordered_has_one_consumer_at_a_time(api):
    subscription = await subscribe(api, config={"delivery": {"ordering": "ordered"}})
    with closing(Consumers(api, subscription)) as consumers:
        await consumers.publish(1, 2, 3)
        one = await consumers.poll("?max=1")
        assert (await consumers.poll()).status == 204
        assert ids(await consumers.poll(f"?cursor={one.headers['headrace-cursor']}")) == ["2", "3"]


async def test_the_lease_is_the_subscription_s(api):
    with closing(Consumers(api, await subscribe(api, protocolsettings={"lease": 1}))) as consumers:
        await consumers.publish(1)
        first = await consumers.poll()
        assert (await consumers.poll()).status == 204
        assert ids(await consumers.poll("?wait=5")) == ["1"]
        late = await consumers.ack(upTo=first.headers["headrace-cursor"])
        assert late.json == {"acknowledged": 0}


async def test_acknowledged_when_sent(consumers):
    await consumers.publish(1, 2)
    assert ids(await consumers.poll("?ack=sent")) == ["1", "2"]
    assert consumers.waiting == 0


async def test_a_batch_has_one_specversion(consumers):
    await consumers.publish(1, 2)
    await consumers.publish(3, version="0.3")
    assert ids(await consumers.poll()) == ["1", "2"]
    answer = await consumers.poll(headers=JSON)
    assert [(each["event"]["id"], each["handed"]) for each in answer.json["events"]] == [("3", 1)]


async def test_an_answer_has_so_many_bytes_and_one_event_at_least(consumers, monkeypatch):
    monkeypatch.setattr(handing, "_MOST_BYTES", 2500)
    await consumers.publish(1, 2, 3, size=1000)
    await consumers.publish(4, size=5000)
    assert ids(await consumers.poll()) == ["1", "2"]
    assert ids(await consumers.poll()) == ["3"]
    answer = await consumers.poll(headers=JSON)
    assert [(each["event"]["id"], each["handed"]) for each in answer.json["events"]] == [("4", 1)]


async def test_a_pause_keeps_everything_where_it_is(consumers):
    await consumers.publish(1)
    await consumers.api.call("POST", f"/api/subscriptions/{consumers.id}/pause")
    assert (await consumers.poll()).status == 204
    await consumers.api.call("POST", f"/api/subscriptions/{consumers.id}/resume")
    assert ids(await consumers.poll()) == ["1"]


async def test_what_lies_before_a_seek_is_dropped(consumers):
    await consumers.publish(1, 2, 3)
    consumers.api.store.go_live(consumers.id, LogPosition.at(2), lambda _: None)
    consumers.mail(0, replay="over")  # of a catch-up that is over, too
    assert ids(await consumers.poll()) == ["3"]
    assert consumers.waiting == 1


async def test_an_event_that_is_lost_becomes_a_dead_letter(consumers):
    await consumers.publish(1)
    consumers.mail(5)
    await consumers.publish(2)
    assert ids(await consumers.poll()) == ["1", "2"]
    shown = await consumers.api.call("GET", f"/api/dead-letters?subscription={consumers.id}")
    (dead,) = shown.json["deadLetters"]
    assert (dead["position"], "event" in dead) == (5, False)
    assert "can no longer be read" in dead["reason"]


async def test_the_status_shows_what_waits(consumers):
    await consumers.publish(1, 2, 3)
    await consumers.poll("?max=1")
    shown = (await consumers.api.call("GET", f"/subscriptions/{consumers.id}")).json
    assert (shown["protocol"], shown["protocolsettings"]) == ("PULL", {"lease": 30, "expired": "dead-letter"})
    assert "sink" not in shown
    delivery = shown["status"]["delivery"]
    assert (delivery["waiting"], delivery["pull"]["waiting"], delivery["pull"]["held"]) == (3, 3, 1)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"sink": "http://a/"}, "sink"),
        ({"sinkCredential": {"credentialType": "PLAIN", "identifier": "a", "secret": "b"}}, "sinkCredential"),
        ({"config": {"reply": {"uri": "http://a/"}}}, "config.reply"),
        ({"config": {"delivery": {"retry": 3, "ordering": "ordered"}}}, "config.delivery.retry"),
        ({"protocolsettings": {"lease": 0}}, "protocolsettings.lease"),
        ({"protocolsettings": {"expired": "never"}}, "protocolsettings.expired"),
        ({"protocolsettings": {"mode": "binary"}}, "protocolsettings.mode"),
    ],
)
async def test_what_a_pulled_subscription_can_t_have(api, document, path):
    answer = await api.send_json("POST", "/subscriptions", {"protocol": "PULL"} | document)
    assert answer.status == 400
    assert [fault["path"] for fault in answer.json["faults"]] == [path]


@pytest.mark.parametrize(
    "query",
    ["?max=0", "?max=1001", "?wait=61", "?wait=x", "?cursor=x", "?ack=never", "?more=1", "?cursor=0-1"],
)
async def test_faulty_polls_are_refused(consumers, query):
    answer = await consumers.poll(query)
    assert (answer.status, answer.json["code"]) == (400, "invalid-request")


@pytest.mark.parametrize(
    "said",
    [
        [], {}, {"upTo": 5}, {"ids": "a"}, {"ids": ["x"]}, {"consumer": "x"}, {"release": 1, "consumer": "a" * 16},
        {"upTo": "a" * 16 + "-1", "ids": ["b" * 16 + "-1"]}, {"cursor": "a" * 16 + "-1"},
        {"ids": ["a" * 16 + "-1"] * 1001},
    ],
)  # fmt: skip
async def test_faulty_acknowledgements_are_refused(consumers, said):
    answer = await consumers.api.send_json("POST", f"/api/subscriptions/{consumers.id}/ack", said)
    assert (answer.status, answer.json["code"]) == (400, "invalid-request")


async def test_only_what_has_no_sink_is_pulled(api):
    made = await api.send_json("POST", "/subscriptions", {"sink": "http://127.0.0.1:1/"})
    for method, what in (("GET", "events"), ("POST", "ack")):
        answer = await api.call(method, f"/api/subscriptions/{made.json['id']}/{what}", {}, b"{}")
        assert (answer.status, "PULL" in answer.json["detail"]) == (409, True)
        assert (await api.call(method, f"/api/subscriptions/nobody/{what}", {}, b"{}")).status == 404


async def test_a_head_takes_nothing(consumers):
    await consumers.publish(1)
    assert (await consumers.api.call("HEAD", consumers.path)).status == 204
    assert ids(await consumers.poll()) == ["1"]


async def test_a_subscription_is_replaced_by_one_with_or_without_a_sink(consumers):
    api, path = consumers.api, f"/subscriptions/{consumers.id}"
    await consumers.publish(1)
    narrow = {"protocol": "PULL", "filters": [{"exact": {"type": "x"}}], "protocolsettings": {"lease": 5}}
    answer = await api.send_json("PUT", path, narrow)
    assert (answer.status, answer.json["protocolsettings"]["lease"]) == (200, 5)
    assert ids(await consumers.poll()) == ["1"]
    answer = await api.send_json("PUT", path, {"sink": "http://127.0.0.1:1/"})
    assert (answer.status, answer.json["protocol"], (await consumers.poll()).status) == (200, "HTTP", 409)
    answer = await api.send_json("PUT", path, {"protocol": "PULL"})
    assert (answer.status, "sink" in answer.json) == (200, False)


async def test_a_tenant_pulls_its_own_and_no_other_s(open_api):
    api = open_api(auth=True)
    api.store.create_channel(ChannelName("shop", "orders"))
    proposal = parse_subscription({"protocol": "PULL", "config": {"channel": "shop/orders"}})
    subscription = api.store.create(proposal, lambda: LogPosition.at(api.writer.end)).id
    keys = [
        {},
        await api.key(other=["subscribe"]),
        await api.key(shop=["publish"]),
        await api.key(shop=["subscribe"]),
    ]
    for what, method, answered in (("events", "GET", 204), ("ack", "POST", 200)):
        path, body = f"/api/subscriptions/{subscription}/{what}", b'{"consumer": "aaaaaaaaaaaaaaaa"}'
        told = [(await api.call(method, path, key, body)).status for key in keys]
        assert told == [401, 404, 403, answered]


# Streams


class Reader:
    """Reads a stream as a browser does."""

    def __init__(self, answer):
        self._answer = answer

    async def blocks(self):
        block: dict[str, list[str]] = {}
        async for line in self._answer.content:
            name, _, value = line.decode().rstrip("\n").partition(":")
            if line == b"\n":
                yield block
                block = {}
            else:
                block.setdefault(name, []).append(value.removeprefix(" "))

    async def next(self, seconds=10.0):
        """Return the next event, as (cursor, event)."""
        async with asyncio.timeout(seconds):
            async for block in self.blocks():
                if "data" in block:
                    return block["id"][0], msgspec.json.decode("\n".join(block["data"]))
        raise EOFError


@asynccontextmanager
async def streaming_from(consumers, query="", **headers):
    async with (
        consumers.api.served() as url,
        aiohttp.ClientSession(url) as session,
        session.get(f"{consumers.path}{query}", headers=STREAM | headers) as answer,
    ):
        assert (answer.status, answer.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        try:
            yield Reader(answer)
        finally:
            consumers.api.pull.close()
            answer.close()


async def test_a_stream_goes_on_with_what_comes(consumers):
    await consumers.publish(1)
    async with streaming_from(consumers) as stream:
        cursor, event = await stream.next()
        assert event["id"] == "1"
        await consumers.publish(2, 3)
        assert [(await stream.next())[1]["id"] for _ in range(2)] == ["2", "3"]
        assert consumers.waiting == 3
        assert (await consumers.ack(upTo=cursor)).json == {"acknowledged": 1}


async def test_lines_in_the_data_survive_a_stream(consumers):
    body = b'{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"b":1,\n\r\n "a":1}}'
    await consumers.api.post({"content-type": "application/cloudevents+json"}, body, CHANNEL)
    consumers.mail(0)
    async with streaming_from(consumers) as stream:
        assert (await stream.next())[1]["data"] == {"b": 1, "a": 1}


async def test_the_last_event_id_acknowledges(consumers):
    await consumers.publish(1, 2, 3)
    answer = await consumers.poll(headers=JSON)
    last = answer.json["events"][1]["cursor"]
    async with streaming_from(consumers, **{"last-event-id": last}) as stream:
        assert (await stream.next())[1]["id"] == "3"
    assert consumers.waiting == 1


async def test_a_stream_waits_for_acknowledgements(consumers):
    await consumers.publish(*range(10))
    async with streaming_from(consumers, "?max=4") as stream:
        cursors = [(await stream.next())[0] for _ in range(4)]
        with pytest.raises(TimeoutError):
            await stream.next(0.4)
        assert consumers.api.leases.fill(consumers.id).held == 4
        await consumers.ack(upTo=cursors[1])
        assert [(await stream.next())[1]["id"] for _ in range(2)] == ["4", "5"]


async def test_a_stream_ends_when_nobody_acknowledges(api):
    with closing(Consumers(api, await subscribe(api, protocolsettings={"lease": 1}))) as consumers:
        await consumers.publish(1)
        async with streaming_from(consumers) as stream:
            assert (await stream.next())[1]["id"] == "1"
            with pytest.raises(EOFError):
                await stream.next()
        assert consumers.waiting == 1


async def test_acknowledgements_keep_a_stream(api):
    with closing(Consumers(api, await subscribe(api, protocolsettings={"lease": 1}))) as consumers:
        await consumers.publish(1)
        async with streaming_from(consumers) as stream:
            cursor, _ = await stream.next()
            for _ in range(8):
                await asyncio.sleep(0.3)
                await consumers.ack(consumer=cursor.partition("-")[0])
            await consumers.publish(2)
            assert (await stream.next())[1]["id"] == "2"


async def test_a_stream_may_acknowledge_what_it_sent(consumers):
    await consumers.publish(*range(50))
    async with streaming_from(consumers, "?ack=sent&max=10") as stream:
        assert [(await stream.next())[1]["id"] for _ in range(50)] == [str(n) for n in range(50)]
        await consumers.publish(99)
        assert (await stream.next())[1]["id"] == "99"
    assert consumers.waiting <= 1


async def test_a_stream_is_never_silent_for_long(consumers, monkeypatch):
    monkeypatch.setattr(streaming, "_HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(streaming, "_LOOK_SECONDS", 0.05)
    async with streaming_from(consumers) as stream:
        async with asyncio.timeout(5):
            async for block in stream.blocks():
                if block.get("") == ["still here"]:
                    break


async def test_a_stream_goes_on_when_the_database_comes_back(consumers, monkeypatch):
    monkeypatch.setattr(streaming, "_AWAY_SECONDS", 0.05)
    real, failures = consumers.api.leases.held, iter(range(3))

    def held(*arguments):
        if next(failures, None) is not None:
            raise StoreUnavailable("it restarts")
        return real(*arguments)

    monkeypatch.setattr(consumers.api.leases, "held", held)
    await consumers.publish(1)
    async with streaming_from(consumers) as stream:
        assert (await stream.next())[1]["id"] == "1"
    assert next(failures, None) is None


@pytest.mark.parametrize("end", [("DELETE", {}), ("PUT", {"sink": "http://127.0.0.1:1/"})])
async def test_a_stream_ends_with_its_subscription(consumers, end):
    method, document = end
    async with streaming_from(consumers) as stream:
        await consumers.api.send_json(method, f"/subscriptions/{consumers.id}", document)
        with pytest.raises(EOFError):
            await stream.next()


async def test_closing_ends_streams_and_waits(consumers):
    async with consumers.api.served() as url, aiohttp.ClientSession(url) as session:
        waiting = asyncio.create_task(session.get(f"{consumers.path}?wait=60"))
        async with session.get(consumers.path, headers=STREAM) as answer:
            await asyncio.sleep(0.2)
            consumers.api.pull.close()
            async with asyncio.timeout(5):
                assert (await answer.read()).startswith(b"retry:")
                async with await waiting as nothing:
                    assert nothing.status == 204
