import asyncio
import errno
import os
import threading

import msgspec
import pytest
from prometheus_client import REGISTRY
from tests.api.application import BATCHED, CHANNEL, NO_ANSWER, STRUCTURED, V1

from headrace.events import DataKind, Event
from headrace.events.bindings.http import encode_batch, encode_binary, encode_structured

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def document(**attributes):
    return REQUIRED | attributes


def batch(*documents):
    return msgspec.json.encode(documents)


def metric(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0.0


def assert_problem(answer, status, code):
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert (problem["status"], problem["code"], problem["type"]) == (status, code, f"urn:headrace:{code}")
    assert problem["title"]
    assert problem["detail"]
    return problem


# What is accepted


async def test_a_202_means_that_the_event_can_be_read_from_the_log(api):
    answer = await api.post({**V1, "content-type": "text/plain"}, b"hello")
    assert (answer.status, answer.body) == (202, b"")
    (recorded,) = api.recorded()
    assert recorded.event == Event(REQUIRED | {"datacontenttype": "text/plain"}, b"hello")
    assert (recorded.arrival.namespace, recorded.arrival.channel) == ("default", "default")
    assert recorded.position == 0


async def test_the_202_waits_for_the_log(api, monkeypatch):
    """Nothing is answered while the sync is under way."""
    gate = threading.Event()
    sync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: (gate.wait(), sync(descriptor)))
    posting = asyncio.create_task(api.post(V1))
    await asyncio.sleep(0.02)
    answered, readable = posting.done(), api.recorded()
    gate.set()
    assert (answered, readable) == (False, [])
    assert (await posting).status == 202


@pytest.mark.parametrize("specversion", ["0.3", "1.0"])
@pytest.mark.parametrize("encode", [encode_binary, encode_structured, lambda event: encode_batch([event])])
async def test_attributes_and_data_are_read_back_as_they_were_sent(api, specversion, encode):
    event = Event(
        {
            "specversion": specversion,
            "id": "ä/1 %41",
            "source": "/s?q=1#f",
            "type": "com.example.order",
            "time": "2026-01-01T00:00:00.1234567+02:00",
            "subject": 'quoted "text"',
            "datacontenttype": "application/json",
            "someext": "some value",
        },
        b'{"amount": 1.0e2 , "text":"\\u00e4"}',
        DataKind.JSON,
    )
    message = encode(event)
    assert (await api.post(message.headers, message.body)).status == 202
    (recorded,) = api.recorded()
    assert dict(recorded.event.attributes) == dict(event.attributes)
    assert recorded.event.data == event.data


async def test_a_batch_is_stored_in_its_order(api):
    body = batch(*(document(id=str(number)) for number in range(100)))
    assert (await api.post(BATCHED, body)).status == 202
    assert api.ids() == [str(number) for number in range(100)]
    assert api.commits() == 1


async def test_an_empty_batch_is_accepted_and_stores_nothing(api):
    assert (await api.post(BATCHED, b"[]")).status == 202
    assert api.recorded() == []


async def test_a_body_may_come_in_parts(api):
    whole = msgspec.json.encode(document(data={"a": "b" * 100}))
    assert (await api.post(STRUCTURED, [whole[:10], b"", whole[10:50], whole[50:]])).status == 202
    assert api.ids() == ["1"]


async def test_posts_at_the_same_time_share_a_sync_and_all_are_stored(api):
    posts = [api.post(V1 | {"ce-id": str(number)}) for number in range(200)]
    answers = await asyncio.gather(*posts)
    assert {answer.status for answer in answers} == {202}
    assert sorted(api.ids(), key=int) == [str(number) for number in range(200)]
    assert api.commits() < 20


async def test_the_trace_is_kept_beside_the_event(api):
    headers = [*V1.items(), ("traceparent", TRACEPARENT), ("tracestate", "a=1"), ("tracestate", "b=2,c=3")]
    assert (await api.post(headers)).status == 202
    assert (await api.post(V1)).status == 202
    traced, plain = (each.arrival for each in api.recorded())
    assert (traced.traceparent, traced.tracestate) == (TRACEPARENT, "a=1,b=2,c=3")
    assert (plain.traceparent, plain.tracestate) == (None, None)
    assert set(traced.event.attributes) == set(REQUIRED)


# What is refused


async def test_every_fault_of_an_event_is_listed_and_nothing_stored(api):
    answer = await api.post(
        {"ce-specversion": "1.0", "ce-id": "", "ce-time": "yesterday", "ce-Bad_Name": "x"}
    )
    problem = assert_problem(answer, 400, "invalid-event")
    for fault in ("id", "source", "type", "time", "bad_name"):
        assert any(fault in each for each in problem["faults"]), fault
    assert len(problem["faults"]) == 5
    assert api.recorded() == []


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b"just some text"),
        ({"content-type": "application/json"}, b"{}"),
        (STRUCTURED, b""),
        (STRUCTURED, b"not json"),
        (STRUCTURED, b"[]"),
        (STRUCTURED, b"{}"),
        (STRUCTURED, b'{"specversion": "2.0", "id": "1", "source": "/s", "type": "t"}'),
        (BATCHED, b"{}"),
        (BATCHED, b"[1]"),
        (BATCHED, b"[" * 100_000),
        ([*V1.items(), ("content-type", "text/plain"), ("content-type", "text/html")], b""),
        ([*V1.items(), ("ce-id", "2")], b""),
    ],
)
async def test_what_is_no_event_is_refused(api, headers, body):
    answer = await api.post(headers, body)
    assert assert_problem(answer, 400, "invalid-event")["faults"]
    assert api.recorded() == []


async def test_a_batch_with_one_bad_event_stores_nothing(api):
    body = batch(document(id="1"), document(id=""), document(id="3"), {"id": "4"})
    problem = assert_problem(await api.post(BATCHED, body), 400, "invalid-event")
    assert {fault.split(":")[0] for fault in problem["faults"]} == {"event 1", "event 3"}
    assert api.recorded() == []


@pytest.mark.parametrize(
    "path", ["/channels/default/other", "/channels/other/default", "/channels/default", "/channels/a/b/c"]
)
async def test_an_unknown_channel(api, path):
    assert_problem(await api.post(V1, b"", path), 404, "not-found")
    assert api.recorded() == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "QUERY"])
@pytest.mark.parametrize("path", [CHANNEL, CHANNEL + "/", "/channels/no/such"])
async def test_only_post_is_for_events(api, method, path):
    answer = await api.call(method, path, V1, b"x")
    assert_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"
    assert api.recorded() == []


@pytest.mark.parametrize(
    "content_type",
    [
        "application/cloudevents+xml",
        "application/cloudevents+avro",
        "application/cloudevents-batch+xml",
        "application/cloudevents+json; charset=utf-16",
    ],
)
async def test_formats_that_are_not_read_here(api, content_type):
    problem = assert_problem(await api.post({"content-type": content_type}, b"x"), 415, "unsupported-format")
    assert "application/cloudevents+json" in problem["detail"]
    assert api.recorded() == []


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "br", "deflate", "identity, gzip"])
async def test_encodings_that_are_not_read_here(api, encoding):
    answer = await api.post(V1 | {"content-encoding": encoding}, b"x")
    assert_problem(answer, 415, "unsupported-format")
    assert api.recorded() == []


async def test_the_identity_encoding_changes_nothing(api):
    assert (await api.post(V1 | {"content-encoding": "Identity"}, b"x")).status == 202


# Addressed by host


@pytest.mark.parametrize(
    "host",
    [
        "orders-kn-channel.shop.svc.cluster.local",
        "orders-kn-channel.shop.svc.cluster.local:8080",
        "orders-kn-channel.shop.svc",
        "orders-kn-channel.shop",
        "orders-kn-channel.shop:80",
        "Orders-KN-Channel.Shop.SVC.cluster.local",
    ],
)
async def test_a_channel_is_addressed_by_its_host(api, host):
    await api.send_json("POST", "/api/channels", {"namespace": "shop", "name": "orders"})
    assert (await api.post(V1 | {"host": host}, b"", "/")).status == 202
    (recorded,) = api.recorded()
    assert (recorded.arrival.namespace, recorded.arrival.channel) == ("shop", "orders")


async def test_a_name_that_itself_ends_like_a_channels_host(api):
    await api.send_json("POST", "/api/channels", {"namespace": "shop", "name": "a-kn-channel"})
    host = {"host": "a-kn-channel-kn-channel.shop.svc.cluster.local"}
    assert (await api.post(V1 | host, b"", "/")).status == 202
    assert api.recorded()[0].arrival.channel == "a-kn-channel"


@pytest.mark.parametrize(
    "host",
    [
        "other-kn-channel.default.svc.cluster.local",
        "default-kn-channel.other.svc.cluster.local",
        "-kn-channel.default.svc.cluster.local",
        "default-kn-channel..svc.cluster.local",
        "x.default-kn-channel.default.svc",
    ],
)
async def test_a_host_of_no_channel(api, host):
    assert_problem(await api.post(V1 | {"host": host}, b"", "/"), 404, "not-found")
    assert api.recorded() == []


async def test_a_channels_host_takes_only_post(api):
    host = {"host": "default-kn-channel.default.svc.cluster.local"}
    answer = await api.call("GET", "/", host)
    assert_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"


async def test_the_rest_of_the_api_is_not_hidden_by_a_channels_host(api):
    host = {"host": "default-kn-channel.default.svc.cluster.local"}
    assert (await api.call("GET", "/healthz", host)).status == 200


# Limits


async def test_an_announced_length_above_the_limit_is_refused_unread(open_api):
    api = open_api(max_event_bytes=100)
    answer = await api.post(V1 | {"content-length": "101"}, [])  # there is no body to read
    assert_problem(answer, 413, "payload-too-large")
    assert (await api.post(V1 | {"content-length": "100"}, b"x" * 100)).status == 202


async def test_a_body_that_grows_beyond_the_limit_is_refused_when_it_does(open_api):
    api = open_api(max_event_bytes=100)
    parts = [b"x" * 60, b"x" * 60, b"x" * 60]
    assert_problem(await api.post(V1, parts), 413, "payload-too-large")
    assert (await api.post(V1, [b"x" * 60, b"x" * 40])).status == 202
    assert len(api.recorded()) == 1
    assert api.ingress._held_bytes == 0


async def test_a_batch_has_a_limit_of_its_own_and_its_events_the_usual_one(open_api):
    api = open_api(max_event_bytes=200, max_batch_bytes=2000)
    small = [document(id=str(number), data="x" * 50) for number in range(10)]
    assert (await api.post(BATCHED, batch(*small))).status == 202
    problem = assert_problem(
        await api.post(BATCHED, batch(document(id="big", data="x" * 300))), 413, "payload-too-large"
    )
    assert "big" in problem["detail"]
    assert_problem(await api.post(BATCHED, batch(*small * 3)), 413, "payload-too-large")
    assert len(api.recorded()) == 10


async def test_a_backlog_above_the_limit_turns_events_away_until_it_is_gone(open_api):
    api = open_api(max_backlog_events=10)
    api.backlog = 10
    assert (await api.post(V1)).status == 202
    api.backlog = 11
    answer = await api.post(V1)
    assert_problem(answer, 429, "log-behind")
    assert int(answer.headers["retry-after"]) >= 1
    api.backlog = 3
    assert (await api.post(V1)).status == 202
    assert len(api.recorded()) == 2


async def test_a_full_disk_turns_events_away_until_there_is_room(api, monkeypatch):
    assert (await api.post(V1 | {"ce-id": "before"})).status == 202
    with monkeypatch.context() as full:

        def no_space(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        full.setattr(os, "pwritev", no_space)
        answer = await api.post(V1 | {"ce-id": "during"})
        problem = assert_problem(answer, 503, "log-unavailable")
        assert "No space left" in problem["detail"]
        assert int(answer.headers["retry-after"]) >= 1
        assert_problem(await api.post(BATCHED, batch(document(), document(id="2"))), 503, "log-unavailable")
    assert (await api.post(V1 | {"ce-id": "after"})).status == 202
    assert api.ids() == ["before", "after"]


async def test_a_disk_that_fails_in_the_middle_of_a_write_stores_nothing(api, monkeypatch):
    """Half of the frame is written, then the sync fails."""
    sync = os.fdatasync

    def fail(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    assert_problem(await api.post(V1 | {"ce-id": "lost"}), 503, "log-unavailable")
    assert api.recorded() == []
    monkeypatch.setattr(os, "fdatasync", sync)
    assert (await api.post(V1 | {"ce-id": "kept"})).status == 202
    assert api.ids() == ["kept"]


async def test_bodies_in_memory_are_bounded_over_all_requests(open_api):
    api = open_api(max_inflight_bytes=1000)
    more = asyncio.Event()

    async def slow():
        yield {"type": "http.request", "body": b"x" * 600, "more_body": True}
        await more.wait()
        yield {"type": "http.request", "body": b"x", "more_body": False}

    sent = []
    messages = slow()
    scope = {
        "type": "http",
        "method": "POST",
        "path": CHANNEL,
        "headers": [(name.encode(), value.encode()) for name, value in (V1 | {"host": "localhost"}).items()],
    }

    async def send(message):
        sent.append(message)

    first = asyncio.create_task(api.app(scope, messages.__anext__, send))
    await asyncio.sleep(0.01)
    answer = await api.post(V1, b"x" * 600)
    assert_problem(answer, 503, "log-unavailable")
    assert "retry-after" in answer.headers
    assert (await api.post(V1, b"x" * 300)).status == 202
    more.set()
    await first
    assert sent[0]["status"] == 202
    assert (await api.post(V1, b"x" * 900)).status == 202, "what was held is given back"
    assert api.ingress._held_bytes == 0


async def test_a_client_that_goes_away_in_the_middle_stores_nothing(api):
    assert (await api.post(V1, [b"half of it"], cut=True)).status == NO_ANSWER
    assert api.recorded() == []
    assert api.ingress._held_bytes == 0


# Counting


async def test_events_and_malformed_requests_are_counted_by_channel(api):
    await api.send_json("POST", "/api/channels", {"namespace": "counted", "name": "here"})
    there = {"namespace": "counted", "channel": "here"}
    path = "/channels/counted/here"
    assert (await api.post(V1, b"", path)).status == 202
    assert (await api.post(BATCHED, batch(*(document(id=str(n)) for n in range(5))), path)).status == 202
    assert (await api.post(BATCHED, b"[]", path)).status == 202
    assert (await api.post(STRUCTURED, b"{}", path)).status == 400
    assert metric("headrace_events_accepted_total", **there) == 6
    assert metric("headrace_requests_malformed_total", **there) == 1
    text = (await api.call("GET", "/metrics")).body.decode()
    assert 'headrace_events_accepted_total{channel="here",namespace="counted"} 6.0' in text
    assert 'headrace_requests_malformed_total{channel="here",namespace="counted"} 1.0' in text


async def test_other_refusals_are_counted_by_status(open_api):
    api = open_api(max_event_bytes=10)
    before = {
        status: metric("headrace_requests_refused_total", status=status)
        for status in ("404", "405", "413", "415")
    }
    await api.post(V1, b"", "/channels/no/such")
    await api.call("GET", CHANNEL)
    await api.post(V1, b"x" * 11)
    await api.post(V1 | {"content-encoding": "gzip"})
    for status, count in before.items():
        assert metric("headrace_requests_refused_total", status=status) == count + 1


async def test_a_name_nobody_made_is_not_counted_as_a_channel(api):
    """Whoever posts to random names must not fill the metrics."""
    await api.post(STRUCTURED, b"{}", "/channels/random/name")
    assert (
        REGISTRY.get_sample_value(
            "headrace_requests_malformed_total", {"namespace": "random", "channel": "name"}
        )
        is None
    )
