import asyncio
import base64
import gzip
import json
import socket
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from standardwebhooks import Webhook
from tests.delivery.guards import LOOPBACK
from tests.delivery.raw_sink import RawSink, answer, silence

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network
from headrace.events import DataKind, Event, json_format
from headrace.events.bindings.http import encode_binary, encode_structured
from headrace.events.recorded import Arrival, Recorded
from headrace.secrets.credential import Plain, Token
from headrace.secrets.secrets import put_back
from headrace.subscriptions.subscription import parse_subscription

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
PLAIN = Event(REQUIRED)
# What any HTTP request has to carry besides the event.
OF_THE_PROTOCOL = {"host", "content-length"}


@pytest.fixture
async def sender():
    sender = HttpSender(LOOPBACK)
    yield sender
    await sender.close()


def payloads(event, traceparent=None, tracestate=None):
    return [Payload(Recorded(0, 0, Arrival(event, "default", "default", traceparent, tracestate)))]


def target(url, timeout=5.0, **settings):
    made = parse_subscription({"sink": url, "protocol": "HTTP", "protocolsettings": settings})
    settings = put_back(made.protocolsettings, made.secrets)
    return Target(made.id, made.protocol, made.sink, settings, timeout)


def of_the_event(request):
    return [(name.lower(), value) for name, value in request.headers if name.lower() not in OF_THE_PROTOCOL]


@pytest.mark.parametrize(
    "event",
    [
        PLAIN,
        Event(REQUIRED, b""),
        Event(REQUIRED, bytes(range(256))),
        Event(REQUIRED | {"specversion": "0.3", "time": "2026-01-01T00:00:00.000Z"}, b"x"),
        Event(REQUIRED | {"datacontenttype": "text/plain; charset=utf-16"}, b"\xff\xfe"),
        Event(REQUIRED | {"datacontenttype": "application/json"}, b'{"a": 1.0e3 , "b":"\\u00e4"}'),
        Event(REQUIRED | {"datacontenttype": "application/json"}, None),
        Event(REQUIRED, b'{"a": 1}', DataKind.JSON),
        Event(REQUIRED | {"subject": 'Über "50%" €\U0001f600', "flag": True, "count": -7}, b"x"),
        Event(REQUIRED | {"datacontenttype": "application/octet-stream"}, b"\0" * 300_000),
    ],
    ids=[
        "bare", "empty", "bytes", "0.3", "charset", "json", "no-data", "structured-json", "unicode", "large",
    ],
)  # fmt: skip
async def test_binary_mode_adds_nothing_and_alters_nothing(sender, sink, event):
    outcome = await sender.send(target(sink.url + "/in?q=1"), payloads(event))
    assert outcome.verdict is Verdict.DONE
    (request,) = sink.requests
    expected = encode_binary(event)
    assert (request.method, request.target, request.body) == ("POST", "/in?q=1", expected.body)
    assert sorted(of_the_event(request)) == sorted(expected.headers)
    assert request["content-length"] == str(len(expected.body))


async def test_structured_mode(sender, sink):
    event = Event(REQUIRED | {"flag": True}, b'{"a": 1.0e3 }', DataKind.JSON)
    assert (await sender.send(target(sink.url, mode="structured"), payloads(event))).verdict is Verdict.DONE
    (request,) = sink.requests
    assert of_the_event(request) == [("content-type", "application/cloudevents+json")]
    assert request.body == encode_structured(event).body


async def test_the_trace_goes_along(sender, sink):
    await sender.send(target(sink.url), payloads(PLAIN, "00-ab-cd-01", "vendor=1,other=2"))
    (request,) = sink.requests
    assert (request["traceparent"], request["tracestate"]) == ("00-ab-cd-01", "vendor=1,other=2")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_the_method_of_the_settings(sender, sink, method):
    await sender.send(target(sink.url, method=method), payloads(PLAIN))
    assert [request.method for request in sink.requests] == [method]


async def test_the_headers_of_the_settings(sender, sink):
    wanted = {"Authorization": "Bearer x", "X-Shop": "größe", "User-Agent": "mine", "Accept": "text/plain"}
    await sender.send(target(sink.url, headers=wanted), payloads(PLAIN))
    (request,) = sink.requests
    assert request["authorization"] == "Bearer x"
    assert request["x-shop"].encode("latin-1").decode() == "größe"
    assert (request["user-agent"], request["accept"]) == ("mine", "text/plain")


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 299])
async def test_any_2xx_is_an_acknowledgement(sender, sink, status):
    sink.reply = lambda _: answer(status)
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert (outcome.verdict, outcome.reason) == (Verdict.DONE, "")


@pytest.mark.parametrize("status", [404, 408, 409, 429, 500, 501, 502, 503, 504, 599])
async def test_what_may_heal_is_tried_again(sender, sink, status):
    sink.reply = lambda _: answer(status, b"not now")
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert (outcome.verdict, outcome.reason) == (Verdict.AGAIN, f"status {status}: not now")


@pytest.mark.parametrize("status", [300, 304, 400, 401, 403, 405, 406, 411, 413, 415, 422, 428, 431, 451])
async def test_what_stays_wrong_is_not_tried_again(sender, sink, status):
    sink.reply = lambda _: answer(status)
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert (outcome.verdict, outcome.reason) == (Verdict.NEVER, f"status {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(sender, sink, status):
    sink.reply = lambda request: answer(status, b"", f"Location: {sink.url}/elsewhere")
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert outcome.verdict is Verdict.NEVER
    assert len(sink.requests) == 1


async def test_cookies_are_not_kept(sender, sink):
    sink.reply = lambda _: answer(200, b"", "Set-Cookie: session=1; Path=/")
    for _ in range(2):
        await sender.send(target(sink.url), payloads(PLAIN))
    assert [request.values("cookie") for request in sink.requests] == [[], []]


async def test_a_password_in_the_environment_is_not_used(sink, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    sender = HttpSender(LOOPBACK)
    assert (await sender.send(target(sink.url), payloads(PLAIN))).verdict is Verdict.DONE
    await sender.close()
    assert sink.requests[0].values("authorization") == []


async def test_connections_are_used_again(sender, sink):
    for _ in range(20):
        await sender.send(target(sink.url), payloads(PLAIN))
    assert (len(sink.requests), sink.connections) == (20, 1)


async def test_a_connection_that_the_sink_closed_meanwhile_costs_no_delivery(sender, sink):
    sink.reply = lambda _: answer(200, b"", "Connection: close")
    for _ in range(3):
        assert (await sender.send(target(sink.url), payloads(PLAIN))).verdict is Verdict.DONE
    assert sink.connections == 3


async def test_a_sink_that_says_nothing_times_out():
    sender = HttpSender(LOOPBACK)
    async with RawSink(lambda _: silence()) as sink:
        began = time.monotonic()
        outcome = await sender.send(target(sink.url, 0.1), payloads(PLAIN))
        assert (outcome.verdict, outcome.reason) == (Verdict.AGAIN, "no answer within 0.1 s")
        assert time.monotonic() - began < 3
    await sender.close()


async def test_a_sink_that_answers_byte_by_byte_times_out():
    async def trickle():
        yield b"HTTP/1.1 500 Slow\r\nContent-Length: 100000\r\n\r\n"
        while True:
            yield b"x"
            await asyncio.sleep(0.02)

    sender = HttpSender(LOOPBACK)
    async with RawSink(lambda _: trickle()) as sink:
        async with asyncio.timeout(5):
            outcome = await sender.send(target(sink.url, 0.1), payloads(PLAIN))
        assert outcome.verdict is Verdict.AGAIN
    await sender.close()


async def test_nobody_listens(sender):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: nobody else can come to listen there
        outcome = await sender.send(target(f"http://127.0.0.1:{taken.getsockname()[1]}/"), payloads(PLAIN))
    assert outcome.verdict is Verdict.AGAIN
    assert "Refused" in outcome.reason


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 70 + ".example", "xn--.invalid", "a..b"])
async def test_a_host_that_has_no_address(sender, host):
    outcome = await sender.send(target(f"http://{host}/"), payloads(PLAIN))
    assert outcome.verdict is Verdict.AGAIN
    assert outcome.reason


@pytest.mark.parametrize(
    "bytes_",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 999999 What\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: minus one\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    ],
    ids=["nothing", "ssh", "cut", "status", "length", "long-header", "many-headers"],
)
async def test_what_is_no_answer_is_no_acknowledgement(sender, bytes_):
    async def nonsense():
        yield bytes_
        raise ConnectionError

    async with RawSink(lambda _: nonsense()) as sink:
        outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert outcome.verdict is Verdict.AGAIN
    assert outcome.reason


@pytest.mark.parametrize("status", [200, 500])
async def test_an_endless_answer_is_not_read_to_its_end(sender, status):
    sent = 0

    async def endless():
        nonlocal sent
        yield f"HTTP/1.1 {status} Endless\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        while True:
            yield b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
            sent += 0x10000

    async with RawSink(lambda _: endless()) as sink:
        async with asyncio.timeout(4):
            outcome = await sender.send(target(sink.url), payloads(PLAIN))
        assert outcome.verdict is (Verdict.DONE if status == 200 else Verdict.AGAIN)
        assert len(outcome.reason) < 300
        # The sink is not fed any further: its connection is gone.
        async with asyncio.timeout(4):
            while sink._tasks:
                await asyncio.sleep(0.01)
    assert sent < 32 << 20


async def test_a_compressed_answer_is_not_unpacked(sender):
    """It may be a bomb."""
    async with RawSink(
        lambda _: answer(500, gzip.compress(bytes(1 << 20)), "Content-Encoding: gzip")
    ) as sink:
        outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert outcome.verdict is Verdict.AGAIN
    assert outcome.reason.startswith("status 500: \x1f")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "nonsense"])
async def test_an_answer_that_lies_about_its_encoding_is_judged_by_its_status(sender, encoding):
    async with RawSink(lambda _: answer(400, b"not compressed", f"Content-Encoding: {encoding}")) as sink:
        outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert (outcome.verdict, outcome.reason) == (Verdict.NEVER, "status 400: not compressed")


async def test_an_answer_in_no_known_text_is_shown_as_it_can_be(sender):
    async with RawSink(lambda _: answer(400, b"\xff\xfe\x00")) as sink:
        outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert outcome.reason == "status 400: \ufffd\ufffd\x00"


async def test_many_at_once_do_not_wait_for_one_another(sender):
    both = asyncio.Event()

    async def when_all_are_there():
        if len(sink.requests) >= 300:
            both.set()
        await both.wait()
        yield answer(200)

    async with RawSink(lambda _: when_all_are_there()) as sink:
        outcomes = await asyncio.gather(*(sender.send(target(sink.url), payloads(PLAIN)) for _ in range(300)))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DONE}


async def test_gone_is_gone(sender, sink):
    sink.reply = lambda _: answer(410, b"for good")
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert (outcome.verdict, outcome.reason) == (Verdict.GONE, "status 410: for good")


async def test_what_the_sink_said_is_told_within_bounds(sender, sink):
    sink.reply = lambda _: answer(
        500, b"x" * 5000, "X-One: 1", "X-Long: " + "y" * 5000, "Set-Cookie: s3cret", *["X-Many: z"] * 100
    )
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert (outcome.status, outcome.body) == (500, b"x" * 1024)
    assert ("X-One", "1") in outcome.headers
    assert ("X-Long", "y" * 256) in outcome.headers
    assert len(outcome.headers) < 51
    assert "s3cret" not in repr(outcome)


@pytest.mark.parametrize("status", [200, 429, 503])
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("in an hour", 3600.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ],
    ids=["seconds", "none", "an-hour", "past", "word", "negative", "empty", "no-date"],
)
async def test_retry_after_is_read(sender, sink, status, value, seconds):
    if value == "in an hour":
        value = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    sink.reply = lambda _: answer(status, b"", f"Retry-After: {value}")
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert outcome.retry_after == (None if seconds is None else pytest.approx(seconds, abs=60))


REPLY = Event(REQUIRED | {"id": "r", "datacontenttype": "application/json", "subject": "ä"}, b'{"b": 1.0 }')


def replying(message, status=200):
    headers = [f"{name}: {value}" for name, value in message.headers]
    return lambda _: answer(status, message.body, *headers)


def wanting(url, **changes):
    return replace(target(url), wants_reply=True, **changes)


@pytest.mark.parametrize("encode", [encode_binary, encode_structured])
@pytest.mark.parametrize("status", [200, 201, 203])
async def test_an_event_in_the_answer_is_a_reply(sender, sink, encode, status):
    sink.reply = replying(encode(REPLY), status)
    outcome = await sender.send(wanting(sink.url), payloads(PLAIN))
    assert outcome.verdict is Verdict.DONE
    assert outcome.reply is not None
    assert (dict(outcome.reply.attributes), outcome.reply.data) == (dict(REPLY.attributes), REPLY.data)
    assert sink.requests[0]["prefer"] == "reply"


async def test_a_reply_is_asked_for_only_where_it_is_wanted(sender, sink):
    sink.reply = replying(encode_binary(REPLY))
    outcome = await sender.send(target(sink.url), payloads(PLAIN))
    assert (outcome.verdict, outcome.reply) == (Verdict.DONE, None)
    assert sink.requests[0].values("prefer") == []


@pytest.mark.parametrize(
    "bytes_",
    [
        answer(202, b"x", "ce-specversion: 1.0", "ce-id: 1", "ce-source: /", "ce-type: t"),
        answer(200),
        answer(200, b"thanks", "Content-Type: text/plain"),
        answer(500, b"x", "ce-specversion: 1.0", "ce-id: 1", "ce-source: /", "ce-type: t"),
    ],
    ids=["202", "empty", "text", "500"],
)
async def test_what_is_no_reply(sender, sink, bytes_):
    sink.reply = lambda _: bytes_
    assert (await sender.send(wanting(sink.url), payloads(PLAIN))).reply is None


@pytest.mark.parametrize(
    ("bytes_", "problem"),
    [
        (answer(200, b"", "ce-specversion: 1.0"), "no CloudEvent"),
        (answer(200, b"{", "Content-Type: application/cloudevents+json"), "no CloudEvent"),
        (answer(200, b"[]", "Content-Type: application/cloudevents-batch+json"), "a batch"),
        (
            answer(200, b"x" * (1 << 21), "Content-Type: application/cloudevents+json"),
            "more than 1048576 bytes",
        ),
    ],
    ids=["attributes", "json", "batch", "large"],
)
async def test_a_faulty_reply_does_not_undo_the_delivery_and_is_told(sender, sink, bytes_, problem):
    sink.reply = lambda _: bytes_
    outcome = await sender.send(wanting(sink.url), payloads(PLAIN))
    assert (outcome.verdict, outcome.reply) == (Verdict.DONE, None)
    assert problem in outcome.reason


async def test_a_reply_that_breaks_off_is_asked_for_again(sender):
    async def broken():
        yield answer(200, b"x" * 100, "Content-Type: application/cloudevents+json")[:-50]
        raise ConnectionError

    async with RawSink(lambda _: broken()) as sink:
        outcome = await sender.send(wanting(sink.url), payloads(PLAIN))
        assert (outcome.verdict, outcome.reply) == (Verdict.AGAIN, None)
        assert "broke off" in outcome.reason
        without = await sender.send(target(sink.url), payloads(PLAIN))
        assert without.verdict is Verdict.DONE, "nobody waits for a reply, so nothing is lost"


def batch_target(url):
    return Target("owner", "HTTP", url, {"method": "POST", "mode": "batched"}, 5.0)


async def test_a_batch_is_one_request(sender, sink):
    events = [Event(REQUIRED | {"id": str(number), "n": number}, b"%d" % number) for number in range(5)]
    outcome = await sender.send(batch_target(sink.url), [payload for e in events for payload in payloads(e)])
    assert outcome.verdict is Verdict.DONE
    (request,) = sink.requests
    assert of_the_event(request) == [("content-type", "application/cloudevents-batch+json")]
    assert [each["id"] for each in json.loads(request.body)] == ["0", "1", "2", "3", "4"]
    assert [dict(event.attributes) for event in json_format.decode_batch(request.body)] == [
        dict(event.attributes) for event in events
    ]


async def test_a_batch_of_one_is_a_batch(sender, sink):
    assert (await sender.send(batch_target(sink.url), payloads(PLAIN))).verdict is Verdict.DONE
    assert [each["id"] for each in json.loads(sink.requests[0].body)] == ["1"]


async def test_versions_of_cloudevents_are_not_mixed_in_a_batch(sender, sink):
    events = [PLAIN, Event(REQUIRED | {"specversion": "0.3", "id": "2"}), Event(REQUIRED | {"id": "3"})]
    mixed = [payload for event in events for payload in payloads(event)]
    assert (await sender.send(batch_target(sink.url), mixed)).verdict is Verdict.DONE
    bodies = [json.loads(request.body) for request in sink.requests]
    assert [[each["id"] for each in body] for body in bodies] == [["1", "3"], ["2"]]
    sink.reply = lambda request: answer(200 if len(sink.requests) == 3 else 500)
    assert (await sender.send(batch_target(sink.url), mixed)).verdict is Verdict.AGAIN


@pytest.mark.parametrize(
    ("credential", "header"),
    [
        (Plain("me", "geheim"), "Basic bWU6Z2VoZWlt"),
        (Token("Bearer", "t0ken", 0.0), "Bearer t0ken"),
        (Token("MAC", "x", 0.0), "MAC x"),
    ],
)
async def test_credentials_become_an_authorization(sender, sink, credential, header):
    await sender.send(replace(target(sink.url), credential=credential), payloads(PLAIN))
    assert sink.requests[0]["authorization"] == header


async def test_a_credential_does_not_travel_in_the_clear_over_public_networks():
    asked = []

    def lookup(host, port, **_):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", port))]

    guard = Guard(lookup=lookup)
    sender = HttpSender(guard)
    there = replace(target("http://public.example/"), credential=Plain("me", "s3cret"))
    outcome = await sender.send(there, payloads(PLAIN))
    await sender.close()
    guard.close()
    assert (outcome.verdict, asked) == (Verdict.NEVER, ["public.example"])
    assert "8.8.8.8" in outcome.reason
    assert "use https" in outcome.reason
    assert "s3cret" not in repr(outcome)


async def test_requests_are_signed_so_that_the_official_library_verifies_them(sender, sink):
    keys = tuple("whsec_" + base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    signing = replace(target(sink.url), signing=keys)
    for _ in range(2):
        assert (await sender.send(signing, payloads(REPLY))).verdict is Verdict.DONE
    for request in sink.requests:
        fields = {name.lower(): value for name, value in request.headers}
        for key in keys:
            assert Webhook(key).verify(request.body, fields) == {"b": 1.0}
    first, second = sink.requests
    assert first["webhook-id"] == second["webhook-id"]
    assert "whsec_" not in repr(signing)


REFUSED_HOSTS = [
    "127.0.0.1", "2130706433", "0x7f.1", "0x7f000001", "127.1", "[::1]", "[::ffff:127.0.0.1]", "[::]", "0.0.0.0",
    "169.254.169.254", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "10.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", REFUSED_HOSTS)
async def test_no_spelling_of_an_address_gets_past_the_guard(sink, host, scheme):
    guard = Guard()
    sender = HttpSender(guard)
    outcome = await sender.send(target(f"{scheme}://{host}:{sink.port}/"), payloads(PLAIN))
    assert outcome.verdict is Verdict.NEVER
    assert "delivery.allow_networks" in outcome.reason or "not a canonical" in outcome.reason
    assert sink.connections == 0
    await sender.close()
    guard.close()


async def test_many_deliveries_to_a_refused_name_at_once(sink):
    guard = Guard()
    sender = HttpSender(guard)
    sending = (sender.send(target(f"http://localhost:{sink.port}/"), payloads(PLAIN)) for _ in range(30))
    outcomes = await asyncio.gather(*sending)
    assert {outcome.verdict for outcome in outcomes} == {Verdict.AGAIN}
    assert all("'localhost' leads to" in outcome.reason for outcome in outcomes)
    assert sink.connections == 0
    await sender.close()
    guard.close()


async def test_a_name_that_is_bound_anew_between_check_and_use_gains_nothing(sink):
    """The first answer may be connected to, and nobody listens there; every later one leads behind the guard."""
    asked = []

    def rebinding(host, port, **_):
        asked.append(host)
        address = "127.0.0.2" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    guard = Guard([Network("127.0.0.2")], lookup=rebinding)
    sender = HttpSender(guard)
    for _ in range(4):
        outcome = await sender.send(target(f"http://rebind.example:{sink.port}/"), payloads(PLAIN))
        assert outcome.verdict is Verdict.AGAIN
    assert sink.connections == 0
    await sender.close()
    guard.close()
