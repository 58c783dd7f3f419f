import asyncio
import base64
import io
import socket
import time

import aiohttp
import pytest

from headrace.client import Received, Sink
from headrace.delivery.sinks.signatures import signature_headers
from headrace.events import Event
from headrace.events.bindings.http import HttpMessage, encode_batch, encode_binary, encode_structured

EVENT = Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "subject": "ä"}, b"x")


async def post(url, message):
    async with (
        aiohttp.ClientSession(skip_auto_headers=["Content-Type"]) as session,
        session.post(url, data=io.BytesIO(message.body), headers=message.headers) as response,
    ):
        return response.status, await response.text()


@pytest.mark.parametrize(
    "encode", [encode_binary, encode_structured, lambda event: encode_batch([event, event])]
)
async def test_it_hands_on_what_arrives(encode):
    received: list[Received] = []
    async with Sink(received.append) as sink:
        assert await post(sink.url + "/some/path?q=1", encode(EVENT)) == (200, "")
    assert all(each.event == EVENT for each in received)
    assert {each.path for each in received} == {"/some/path"}
    assert len(received) in (1, 2)
    assert "Host" in received[0].headers


async def test_it_answers_with_the_status_it_is_given():
    async with Sink(lambda received: 503 if received.event.id == "1" else None) as sink:
        assert (await post(sink.url, encode_binary(EVENT)))[0] == 503
        other = Event(dict(EVENT.attributes) | {"id": "2"})
        assert (await post(sink.url, encode_binary(other)))[0] == 200


async def test_what_is_no_event_is_refused_and_not_handed_on():
    received: list[Received] = []
    async with Sink(received.append) as sink:
        status, text = await post(sink.url, HttpMessage([], b"hello"))
    assert status == 400
    assert "id" in text
    assert received == []


async def test_a_large_event():
    received: list[Received] = []
    large = Event(dict(EVENT.attributes), b"x" * (5 << 20))
    async with Sink(received.append) as sink:
        assert (await post(sink.url, encode_binary(large)))[0] == 200
    assert received[0].event == large


async def test_it_says_where_it_listens_and_lets_go_of_the_port():
    sink = Sink(lambda _: None)
    with pytest.raises(RuntimeError, match="async with"):
        _ = sink.url
    async with sink:
        port = int(sink.url.rpartition(":")[2])
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))


async def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        async with Sink(lambda _: None, port=taken.getsockname()[1]):
            pass


async def test_a_kept_connection_does_not_hold_up_its_end():
    message = encode_binary(EVENT)
    async with (
        asyncio.timeout(5),
        aiohttp.ClientSession() as session,
        Sink(lambda _: None) as sink,
        session.post(sink.url, data=message.body, headers=message.headers) as response,
    ):
        assert response.status == 200


async def test_with_a_key_it_takes_only_what_is_signed_with_it():
    key, other = ("whsec_" + base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    message = encode_binary(EVENT)
    received: list[Received] = []

    def signed(by, at):
        return HttpMessage(
            [*message.headers, *signature_headers([by], "msg_1", at, message.body)], message.body
        )

    async with Sink(received.append, key=key) as sink:
        assert await post(sink.url, signed(key, time.time())) == (200, "")
        for wrong, problem in (
            (message, "not signed"),
            (signed(other, time.time()), "none of its signatures"),
            (signed(key, time.time() - 400), "not within 300 s"),
        ):
            status, text = await post(sink.url, wrong)
            assert status == 401
            assert problem in text
    assert len(received) == 1
