"""HTTP/1.1 as sinks speak it; what a sender makes of it is tested with the sender."""

import asyncio

import pytest
from tests.delivery.guards import LOOPBACK
from tests.delivery.raw_sink import RawSink, answer, silence

from headrace.delivery.protocols.http import http1
from headrace.delivery.protocols.http.http1 import Http1, InvalidAddress, address_of
from headrace.delivery.protocols.http.requests import Request
from headrace.delivery.sinks.tls import tls_context


@pytest.fixture
async def http():
    http = Http1(LOOPBACK, tls_context(""))
    yield http
    await http.close()


async def ask(http, sink, body=b"", limit=100, seconds=5.0, method="POST", headers=()):
    deadline = asyncio.get_running_loop().time() + seconds
    return await http.exchange(Request(method, f"{sink.url}/a?b=c", list(headers), body), limit, deadline)


async def ending():
    """End the connection without a byte."""
    nothing: list[bytes] = []
    for part in nothing:
        yield part
    raise ConnectionError


async def test_a_connection_is_used_again_and_by_one_request_at_a_time(http, sink):
    sink.reply = lambda request: answer(200, request.body)
    assert (await ask(http, sink, b"first")).body == b"first"
    assert (await ask(http, sink, b"second")).body == b"second"
    assert sink.connections == 1
    answers = await asyncio.gather(*(ask(http, sink, str(number).encode()) for number in range(20)))
    assert [each.body for each in answers] == [str(number).encode() for number in range(20)]
    assert sink.connections == 20


@pytest.mark.parametrize(
    ("bytes_", "expected"),
    [
        (b"HTTP/1.1 204 No\r\n\r\n", (204, b"", True)),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + answer(201, b"x"),
            (201, b"x", True),
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            (200, b"abc", True),
        ),
        (answer(200, b"x" * 500), (200, b"x" * 101, False)),
    ],
    ids=["no body", "announced", "chunked", "too long"],
)
async def test_answers(http, sink, bytes_, expected):
    sink.reply = lambda _: bytes_
    answered = await ask(http, sink)
    assert (answered.status, answered.body, answered.whole) == expected


@pytest.mark.parametrize(
    ("bytes_", "body", "whole"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end", True),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\ncut", b"cut", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ncut", b"cut", False),
    ],
)
async def test_the_end_of_the_connection(http, bytes_, body, whole):
    async def last():
        yield bytes_
        raise ConnectionError

    async with RawSink(lambda _: last()) as sink:
        answered = await ask(http, sink)
    assert (answered.status, answered.body, answered.whole) == (200, body, whole)


async def test_a_kept_connection_that_the_server_ended_is_replaced(http, sink):
    """It ends with the next request on it, before a byte of an answer."""

    await ask(http, sink)
    replies = iter([ending(), answer(202)])
    sink.reply = lambda _: next(replies)
    assert (await ask(http, sink)).status == 202
    assert (len(sink.requests), sink.connections) == (3, 2)


async def test_a_new_connection_that_the_server_ends_is_not_tried_again(http):
    async with RawSink(lambda _: ending()) as sink:
        with pytest.raises(ConnectionError, match="without an answer"):
            await ask(http, sink)
        assert len(sink.requests) == 1


async def test_what_nobody_asked_for_ends_the_connection(http, sink):
    sink.reply = lambda _: answer(200) + answer(200, b"unasked")
    assert (await ask(http, sink)).body == b""
    assert (await ask(http, sink)).body == b""
    assert sink.connections == 2


async def test_silence_is_late_and_an_answer_that_comes_then_is_nobodys(http, sink):
    sink.reply = lambda _: silence()
    with pytest.raises(TimeoutError):
        await ask(http, sink, seconds=0.05)
    sink.reply = lambda _: answer(200)
    assert (await ask(http, sink)).status == 200
    assert sink.connections == 2


async def test_who_gives_up_leaves_no_connection_behind(http, sink):
    sink.reply = lambda _: silence()
    asking = asyncio.create_task(ask(http, sink))
    while not sink.requests:
        await asyncio.sleep(0.005)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not http._idle
    assert not http._busy


async def test_idle_connections_are_closed(http, sink, monkeypatch):
    monkeypatch.setattr(http1, "_SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(http1, "_IDLE_SECONDS", 0.05)
    await ask(http, sink)
    async with asyncio.timeout(5):
        while sink._tasks:
            await asyncio.sleep(0.01)
    assert not http._idle


@pytest.mark.parametrize("value", ["a\r\nHost: other", "a\nb", "a\rb", "a\0b"])
async def test_a_header_can_not_become_two(http, sink, value):
    with pytest.raises(ValueError, match="line break"):
        await ask(http, sink, headers=[("x", value)])
    assert not sink.requests


async def test_the_length_is_ours_to_say(http, sink):
    await ask(
        http, sink, b"abc", headers=[("Content-Length", "7"), ("Transfer-Encoding", "chunked"), ("x", "ü")]
    )
    [request] = sink.requests
    assert (request.values("content-length"), request.values("transfer-encoding")) == (["3"], [])
    assert request.values("host") == [f"127.0.0.1:{sink.port}"]


@pytest.mark.parametrize(
    ("uri", "place", "line"),
    [
        ("http://a.example", ("http", "a.example", 80), "POST / HTTP/1.1\r\nHost: a.example\r\n"),
        (
            "https://a.example:443/x?y=%20z",
            ("https", "a.example", 443),
            "POST /x?y=%20z HTTP/1.1\r\nHost: a.example\r\n",
        ),
        ("http://[::1]:81/ü", ("http", "::1", 81), "POST /%C3%BC HTTP/1.1\r\nHost: [::1]:81\r\n"),
        (
            "http://bücher.example/",
            ("http", "xn--bcher-kva.example", 80),
            "POST / HTTP/1.1\r\nHost: xn--bcher-kva.example\r\n",
        ),
        ("https://Faß.de", ("https", "xn--fa-hia.de", 443), "POST / HTTP/1.1\r\nHost: xn--fa-hia.de\r\n"),
    ],
)
def test_addresses(uri, place, line):
    assert address_of("POST", uri) == (place, line)


@pytest.mark.parametrize(
    "uri",
    [
        "http://",
        "ftp://a/",
        "http://a:99999/",
        "http://a/\r\nx",
        "http://a/ b",
        "/x",
        "http://☃.example/",
        "http://ü..de/",
    ],
)
def test_what_is_no_address(uri):
    with pytest.raises(InvalidAddress):
        address_of("POST", uri)
