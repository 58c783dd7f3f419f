"""The application behind the real server, on a real socket."""

import asyncio

import aiohttp
import pytest
from tests.api.application import BATCHED, CHANNEL, STRUCTURED, V1

from headrace.client import Client
from headrace.errors import ServiceRefused
from headrace.events import Event

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


async def talk(url, request, answers=1):
    """Send raw bytes and return what comes back, once that many answers have begun."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    received = b""
    async with asyncio.timeout(10):
        while received.count(b"HTTP/1.1 ") < answers and (part := await reader.read(1 << 16)):
            received += part
    writer.close()
    return received


def head(method, *headers, target=CHANNEL):
    lines = [
        f"{method} {target} HTTP/1.1",
        "Host: localhost",
        *(f"{k}: {v}" for k, v in V1.items()),
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


async def test_all_three_modes_through_the_client(api):
    event = Event(REQUIRED | {"subject": "Grüße", "datacontenttype": "text/plain"}, b"\x00\xff")
    async with api.served() as url, Client(url) as client:
        await client.publish(event)
        await client.publish(event, structured=True)
        await client.publish_batch([event, event])
    assert [each.event for each in api.recorded()] == [event] * 4


async def test_what_another_http_client_sends(api):
    async with api.served() as url, aiohttp.ClientSession() as session:
        for headers, data in (
            (V1, b"x"),
            (STRUCTURED, b'{"specversion":"1.0","id":"1","source":"/s","type":"t"}'),
            (BATCHED, b"[]"),
        ):
            async with session.post(url + CHANNEL, headers=headers, data=data) as response:
                assert (response.status, await response.read()) == (202, b"")
    assert len(api.recorded()) == 2


async def test_only_post(api):
    async with api.served() as url, aiohttp.ClientSession() as session:
        for method in ("GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"):
            async with session.request(method, url + CHANNEL) as response:
                body = await response.read()
                assert (response.status, response.headers["Allow"]) == (405, "POST")
                assert bool(body) is (method != "HEAD")
            async with session.post(url + CHANNEL, headers=V1) as response:
                assert response.status == 202, "the connection goes on"


async def test_a_chunked_body_that_grows_beyond_the_limit(open_api):
    api = open_api(max_event_bytes=100_000)
    sent = 0

    async def endless():
        nonlocal sent
        while sent < 50_000_000:
            sent += 50_000
            assert api.ingress._held_bytes <= 200_000
            yield b"x" * 50_000

    async with api.served() as url, aiohttp.ClientSession() as session:
        async with session.post(url + CHANNEL, headers=V1, data=endless()) as response:
            assert response.status == 413
            assert (await response.json())["code"] == "payload-too-large"
        async with session.post(url + CHANNEL, headers=V1, data=b"small") as response:
            assert response.status == 202
    assert api.ingress._held_bytes == 0
    assert [each.event.data for each in api.recorded()] == [b"small"]


async def test_a_client_that_asks_first_is_told_before_it_sends(open_api):
    api = open_api(max_event_bytes=100)
    async with api.served() as url:
        answer = await talk(url, head("POST", "Expect: 100-continue", "Content-Length: 1000000"))
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_a_client_that_goes_away_in_the_middle(api):
    async with api.served() as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head("POST", "Content-Length: 100") + b"only a part")
        await writer.drain()
        while api.ingress._held_bytes == 0:
            await asyncio.sleep(0.005)
        writer.close()
        while api.ingress._held_bytes > 0:
            await asyncio.sleep(0.005)
        async with Client(url) as client:
            await client.publish(Event(REQUIRED | {"id": "next"}))
    assert api.ids() == ["next"]


@pytest.mark.parametrize("length", ["-1", "nonsense", "1, 2"])
async def test_a_length_that_is_no_number_is_refused(api, length):
    async with api.served() as url:
        answer = await talk(url, head("POST", f"Content-Length: {length}") + b"x")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert api.recorded() == []


async def test_requests_one_after_the_other_without_waiting(api):
    request = head("POST", "Content-Length: 1") + b"x"
    async with api.served() as url:
        answer = await talk(url, request * 20, answers=20)
    assert answer.count(b"HTTP/1.1 202 ") == 20
    assert len(api.recorded()) == 20


async def test_a_batch_that_is_refused_is_refused_with_its_faults(api):
    async with api.served() as url, Client(url) as client:
        with pytest.raises(ServiceRefused) as caught:
            await client.publish_batch([Event(REQUIRED), Event(REQUIRED | {"id": ""})])
    assert caught.value.status == 400
    assert caught.value.problem["faults"][0].startswith("event 1: ")
    assert api.recorded() == []


async def test_an_error_nobody_foresaw_is_a_500_that_says_where_to_look(api, monkeypatch, caplog):
    def fail(_):
        raise RuntimeError("the database ate itself")

    monkeypatch.setattr(api.store, "page", fail)
    async with (
        api.served() as url,
        aiohttp.ClientSession() as session,
        session.get(url + "/subscriptions") as response,
    ):
        assert response.status == 500
        problem = await response.json()
    assert (problem["code"], response.content_type) == ("internal", "application/problem+json")
    assert "ate itself" not in problem["detail"]
    assert "the database ate itself" in caplog.text


async def test_an_error_nobody_foresaw_while_storing_is_a_500_and_no_202(api, monkeypatch, caplog):
    def fail(_):
        raise RuntimeError("the log ate itself")

    with monkeypatch.context() as broken:
        broken.setattr(api.writer, "append", fail)
        async with (
            api.served() as url,
            aiohttp.ClientSession() as session,
            session.post(url + CHANNEL, headers=V1) as response,
        ):
            assert response.status == 500
            assert (await response.json())["code"] == "internal"
    assert "the log ate itself" in caplog.text
    assert api.recorded() == []
