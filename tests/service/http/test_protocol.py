"""What a stranger may send: heads, trailers, chunks, time and connections have bounds."""

import asyncio
import re
import resource
import time
from pathlib import Path

import msgspec
import pytest
from tests.api.application import CHANNEL, V1

HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
PATIENCE = 20.0


class Wire:
    """A client that sends what it likes."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, url):
        host, port = url.removeprefix("http://").split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def rest(self):
        """Return everything that comes until the server ends the connection."""
        received = b""
        async with asyncio.timeout(PATIENCE):
            try:
                while part := await self.reader.read(1 << 16):
                    received += part
            except ConnectionResetError:
                pass
        self.writer.close()
        return received

    async def answers(self, count):
        received = b""
        async with asyncio.timeout(PATIENCE):
            while received.count(b"HTTP/1.1 ") < count and (part := await self.reader.read(1 << 16)):
                received += part
        return received


def resident():
    """The memory that this process has now, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def ask(url, data):
    wire = await Wire.to(url)
    await wire.send(data)
    return await wire.rest()


def post(*lines, body=b""):
    attributes = [f"{name}: {value}" for name, value in V1.items()]
    head = [f"POST {CHANNEL} HTTP/1.1", "Host: localhost", *attributes, *lines, "", ""]
    return "\r\n".join(head).encode() + body


def assert_refused(answer, status, code):
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer[:200]
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    problem = msgspec.json.decode(body)
    assert (problem["status"], problem["code"]) == (status, code)
    return problem["detail"]


# The head


async def test_headers_without_end_are_cut_at_the_limit_and_take_no_memory(open_api):
    api = open_api()
    line = b"x-" + b"a" * 50 + b": " + b"b" * 1000 + b"\r\n"
    async with api.served() as url:
        before = resident()
        wire = await Wire.to(url)
        await wire.send(b"GET / HTTP/1.1\r\n" + HOST)
        sent = 0
        answer = asyncio.create_task(wire.rest())
        try:
            while sent < 200 << 20 and not answer.done():
                await wire.send(line * 64)
                sent += len(line) * 64
        except ConnectionError:
            pass
        assert sent < 16 << 20
        assert resident() - before < 32 << 20
        assert b"200" in await ask(url, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        await answer


@pytest.mark.parametrize(
    "lines",
    [
        b"x: " + b"a" * 70_000 + b"\r\n",
        b"x" * 70_000 + b": a\r\n",
        b"".join(b"x%d: %s\r\n" % (number, b"a" * 1000) for number in range(70)),
        b"x: " + b"a" * 400_000,
    ],
    ids=["value", "name", "many", "unfinished"],
)
async def test_large_headers_are_refused_with_their_limit(open_api, lines):
    api = open_api()
    async with api.served() as url:
        answer = await ask(url, b"GET /healthz HTTP/1.1\r\n" + HOST + lines + b"\r\n")
    assert "65536" in assert_refused(answer, 431, "headers-too-large")


async def test_headers_up_to_the_limit_are_taken(open_api):
    api = open_api()
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post("x: " + "a" * 60_000, "Content-Length: 1", body=b"x"))
        assert (await wire.answers(1)).startswith(b"HTTP/1.1 202")
        wire.writer.close()


async def test_many_headers_are_refused(open_api):
    api = open_api()
    lines = b"".join(b"x%d: a\r\n" % number for number in range(300))
    async with api.served() as url:
        answer = await ask(url, b"GET /healthz HTTP/1.1\r\n" + HOST + lines + b"\r\n")
    assert "256" in assert_refused(answer, 431, "too-many-headers")


async def test_a_long_address_is_refused(open_api):
    api = open_api()
    async with api.served() as url:
        answer = await ask(url, b"GET /healthz?" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        assert "16384" in assert_refused(answer, 414, "url-too-long")
        assert_refused(await ask(url, b"GET /" + b"a" * 400_000), 414, "url-too-long")


@pytest.mark.parametrize(
    "sent", [b"", b"\r\n" * 10, b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: loc"]
)
async def test_a_head_has_to_come_in_time(open_api, sent):
    api = open_api(head_seconds=0.3)
    async with api.served() as url:
        assert_refused(await ask(url, sent), 408, "sent-too-slowly")


async def test_a_head_that_drips_has_to_come_in_time(open_api):
    api = open_api(head_seconds=0.5)
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(b"GET /healthz HTTP/1.1\r\n" + HOST)
        answer = asyncio.create_task(wire.rest())
        began = time.monotonic()
        while not answer.done():
            assert time.monotonic() < began + PATIENCE
            try:
                await wire.send(b"x: y\r\n")
            except ConnectionError:
                break
            await asyncio.sleep(0.05)
        assert_refused(await answer, 408, "sent-too-slowly")


async def test_a_blank_line_between_requests_keeps_no_connection(open_api):
    api = open_api(head_seconds=0.3)
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(GET)
        await wire.answers(1)
        await wire.send(b"\r\n")
        assert_refused(await wire.rest(), 408, "sent-too-slowly")


async def test_slow_connections_keep_nobody_else_waiting(open_api):
    api = open_api(head_seconds=5.0)
    async with api.served() as url:
        slow = [await Wire.to(url) for _ in range(300)]
        for each in slow:
            await each.send(b"POST / HTTP/1.1\r\nHo")
        for _ in range(20):
            wire = await Wire.to(url)
            await wire.send(GET)
            assert (await wire.answers(1)).startswith(b"HTTP/1.1 200")
            wire.writer.close()
        for each in slow:
            each.writer.close()


# The body


@pytest.mark.parametrize("drip", [b"", b"x"])
async def test_a_body_that_stands_still_or_drips_is_given_up(open_api, drip):
    api = open_api(body_idle_seconds=0.4)
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post("Content-Length: 1000", body=b"x"))
        answer = asyncio.create_task(wire.rest())
        while drip and not answer.done():
            try:
                await wire.send(drip)
            except ConnectionError:
                break
            await asyncio.sleep(0.05)
        assert_refused(await answer, 408, "sent-too-slowly")
    assert api.recorded() == []
    assert api.ingress._held_bytes == 0


async def test_a_body_may_take_long_while_it_keeps_coming(open_api):
    api = open_api(body_idle_seconds=1.0, min_body_bytes_per_second=1000)
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post("Content-Length: 150000"))
        for _ in range(15):
            await wire.send(b"x" * 10_000)
            await asyncio.sleep(0.15)
        assert (await wire.answers(1)).startswith(b"HTTP/1.1 202")
        wire.writer.close()


async def test_who_waits_to_be_asked_for_the_body_isnt_slow(open_api, monkeypatch):
    api = open_api(body_idle_seconds=0.3)
    admit, asked = api.gate.admit_events, asyncio.Event()

    async def slowly(*given):
        await asked.wait()
        await admit(*given)

    monkeypatch.setattr(api.gate, "admit_events", slowly)
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post("Content-Length: 1", "Expect: 100-continue"))
        await asyncio.sleep(1.5)
        asked.set()
        async with asyncio.timeout(PATIENCE):
            assert (await wire.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        await wire.send(b"x")
        assert (await wire.answers(1)).startswith(b"HTTP/1.1 202")
        wire.writer.close()


# Chunks and trailers

CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    "chunks",
    [b"1;" + b"a" * 400_000, b"".join(b"1;%s\r\nx\r\n" % (b"a" * 1000) for _ in range(400))],
    ids=["one", "many"],
)
async def test_chunk_extensions_are_bounded(open_api, chunks):
    api = open_api()
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post(CHUNKED))
        await wire.send(chunks)
        assert_refused(await wire.rest(), 400, "invalid-http")
    assert api.recorded() == []


async def test_small_chunks_and_short_extensions_are_taken(open_api):
    api = open_api()
    chunks = b"".join(b"1;signature=abc\r\nx\r\n" for _ in range(500)) + b"0\r\n\r\n"
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post(CHUNKED) + chunks)
        assert (await wire.answers(1)).startswith(b"HTTP/1.1 202")
        wire.writer.close()
    assert api.recorded()[0].event.data == b"x" * 500


async def test_trailers_are_bounded(open_api):
    api = open_api()
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post(CHUNKED) + b"1\r\nx\r\n0\r\n")
        await wire.send(b"".join(b"x%d: %s\r\n" % (number, b"a" * 1000) for number in range(300)))
        assert_refused(await wire.rest(), 431, "headers-too-large")
    assert api.recorded() == []


async def test_a_trailer_is_no_header(open_api):
    """Neither who one is nor what an event is can be said behind the body, however early or late that comes."""
    api = open_api(auth=True)
    key = await api.key(everywhere=["publish"])
    trailer = (
        f"0\r\nAuthorization: {key['authorization']}\r\nce-id: forged\r\nce-extra: forged\r\n\r\n".encode()
    )
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(post(CHUNKED) + b"1\r\nx\r\n" + trailer)
        assert (await wire.answers(1)).startswith(b"HTTP/1.1 401")
        await wire.send(post(CHUNKED, f"Authorization: {key['authorization']}") + b"1\r\nx\r\n" + trailer)
        assert (await wire.answers(1)).startswith(b"HTTP/1.1 202")
        wire.writer.close()
    (recorded,) = api.recorded()
    assert dict(recorded.event.attributes) == {name.removeprefix("ce-"): value for name, value in V1.items()}


# Connections


async def test_an_address_has_so_many_connections(open_api):
    api = open_api(max_connections_per_address=3)
    async with api.served() as url:
        held = [await Wire.to(url) for _ in range(3)]
        for each in held:
            await each.send(GET)
            assert b"200" in await each.answers(1)
        refused = await Wire.to(url)
        assert "127.0.0.1 has 3 connections" in assert_refused(
            await refused.rest(), 503, "too-many-connections"
        )
        held.pop().writer.close()
        async with asyncio.timeout(PATIENCE):
            while not (await ask_once(url)).startswith(b"HTTP/1.1 200"):
                await asyncio.sleep(0.01)
        for each in held:
            each.writer.close()


async def ask_once(url):
    wire = await Wire.to(url)
    try:
        await wire.send(GET)
        return await wire.answers(1)
    except ConnectionError:
        return b""
    finally:
        wire.writer.close()


async def test_a_trusted_proxy_stands_for_many(open_api):
    api = open_api(max_connections_per_address=1, trusted_proxies=["127.0.0.0/8"])
    async with api.served() as url:
        held = [await Wire.to(url) for _ in range(3)]
        for each in held:
            await each.send(GET)
            assert (await each.answers(1)).startswith(b"HTTP/1.1 200")
            each.writer.close()


async def test_requests_that_wait_on_one_connection_are_bounded(open_api):
    """A client that asks and asks, and never reads, gets no more than its share of memory."""
    api = open_api()
    async with api.served() as url:
        assert (await ask(url, GET * 20_000)).count(b"HTTP/1.1 200") < 20_000
        assert (await ask_once(url)).startswith(b"HTTP/1.1 200")


async def test_an_answer_isnt_put_into_another(open_api):
    """What is wrong with a request that was sent too early is not answered before those before it."""
    api = open_api()
    async with api.served() as url:
        answer = await ask(url, GET + b"NONSENSE\r\n\r\n")
    assert not answer or re.match(rb"HTTP/1.1 200 ", answer)


async def test_an_upgrade_is_answered_as_it_is(open_api, caplog):
    api = open_api()
    async with api.served() as url:
        upgrade = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        assert (await ask(url, upgrade)).startswith(b"HTTP/1.1 200 ")
    assert "pip install" not in caplog.text


async def test_a_client_that_leaves_in_the_middle_is_no_failure(open_api, caplog):
    api = open_api()
    async with api.served() as url:
        wire = await Wire.to(url)
        await wire.send(b"POST /subscriptions HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\n{")
        await asyncio.sleep(0.1)
        wire.writer.close()
        assert (await ask_once(url)).startswith(b"HTTP/1.1 200")
    assert "Traceback" not in caplog.text
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
