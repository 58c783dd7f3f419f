"""The client libraries alone: the same messages, the same number under way, and nothing of Headrace around them."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import uvloop

from headrace.errors import HeadraceError
from headrace.events.bindings import amqp, kafka, nats
from headrace.events.bindings.http import encode_binary, encode_structured
from headrace_bench.events import bench_events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from multiprocessing.connection import Connection

    Send = Callable[[int], Awaitable[None]]

_EVENTS = bench_events(1000)


class Bare(NamedTuple):
    """What a library reached: messages per second of the clock and of the processor."""

    rate: float
    per_cpu_second: float


def run_bare(protocol: str, wish: Mapping[str, Any], count: int, under_way: int) -> Bare:
    """Send so many messages in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, protocol, dict(wish), count, under_way), daemon=True)
    process.start()
    there.close()
    try:
        return Bare(*here.recv())
    except EOFError:
        raise HeadraceError(f"{protocol}: the library alone could not send; see above") from None
    finally:
        process.join()


def _run(connection: Connection, protocol: str, wish: Mapping[str, Any], count: int, under_way: int) -> None:
    figures = (
        _amqp(wish, count, under_way)
        if protocol == "AMQP"
        else uvloop.run(_measure(protocol, wish, count, under_way))
    )
    connection.send(figures)


async def _measure(protocol: str, wish: Mapping[str, Any], count: int, under_way: int) -> tuple[float, float]:
    async with _LOOPS[protocol](wish) as send:
        await _send_all(send, count // 10, under_way)  # connections are made, code is warm
        began, used = time.perf_counter(), time.process_time()
        await _send_all(send, count, under_way)
        return count / (time.perf_counter() - began), count / (time.process_time() - used)


async def _send_all(send: Send, count: int, under_way: int) -> None:
    messages = iter(range(count))

    async def work() -> None:
        for number in messages:
            await send(number)

    await asyncio.gather(*(work() for _ in range(under_way)))


@asynccontextmanager
async def _http(wish: Mapping[str, Any]) -> AsyncIterator[Send]:
    import aiohttp

    messages = [encode_binary(event) for event in _EVENTS]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send(number: int) -> None:
            message = messages[number % len(messages)]
            async with session.post(wish["sink"], data=message.body, headers=message.headers) as answer:
                if answer.status != 200:
                    raise RuntimeError(f"the sink answered {answer.status}")

        yield send


@asynccontextmanager
async def _kafka(wish: Mapping[str, Any]) -> AsyncIterator[Send]:
    from aiokafka import AIOKafkaProducer

    messages = [kafka.encode_binary(event) for event in _EVENTS]
    topic = wish["protocolsettings"]["topicname"]
    producer = AIOKafkaProducer(bootstrap_servers=urlsplit(wish["sink"]).netloc, acks="all")
    await producer.start()

    async def send(number: int) -> None:
        message = messages[number % len(messages)]
        await producer.send_and_wait(topic, message.value, headers=message.headers)

    try:
        yield send
    finally:
        await producer.stop()


@asynccontextmanager
async def _nats(wish: Mapping[str, Any]) -> AsyncIterator[Send]:
    from nats import connect

    messages = [nats.encode_binary(event) for event in _EVENTS]
    subject = wish["protocolsettings"]["subject"]
    connection = await connect(wish["sink"])

    async def send(number: int) -> None:
        message = messages[number % len(messages)]
        await connection.publish(subject, message.payload, headers=dict(message.headers))
        await connection.flush()  # until then nobody knows whether the server has it

    try:
        yield send
    finally:
        await connection.close()


@asynccontextmanager
async def _mqtt(wish: Mapping[str, Any]) -> AsyncIterator[Send]:
    from paho.mqtt.client import Client, MQTTv5, MQTTv311
    from paho.mqtt.enums import CallbackAPIVersion

    loop, waiting = asyncio.get_running_loop(), dict[int, asyncio.Future[None]]()
    bodies = [encode_structured(event).body for event in _EVENTS]
    version = MQTTv5 if wish["protocol"] == "MQTT5" else MQTTv311
    client = Client(CallbackAPIVersion.VERSION2, protocol=version)
    client.max_inflight_messages_set(100)

    def acknowledge(number: int) -> None:
        waiting.pop(number).set_result(None)

    def published(_client: Any, _data: Any, number: int, *_: Any) -> None:
        loop.call_soon_threadsafe(acknowledge, number)

    client.on_publish = published
    address = urlsplit(wish["sink"])
    client.connect(address.hostname or "", address.port or 1883)
    client.loop_start()

    async def send(number: int) -> None:
        sent = client.publish(wish["protocolsettings"]["topicname"], bodies[number % len(bodies)], qos=1)
        waiting[sent.mid] = loop.create_future()  # the callback comes through the loop, so not before this
        await waiting[sent.mid]

    try:
        yield send
    finally:
        client.disconnect()
        client.loop_stop()


def _amqp(wish: Mapping[str, Any], count: int, under_way: int) -> tuple[float, float]:
    """Proton has a loop of its own, in which it sends as the server gives credit."""
    from proton import Message
    from proton.handlers import MessagingHandler
    from proton.reactor import Container

    messages = [amqp.encode_binary(event) for event in _EVENTS]

    class Sending(MessagingHandler):
        sent = accepted = 0

        def on_start(self, event: Any) -> None:
            connection = event.container.connect(wish["sink"])
            event.container.create_sender(connection, wish["protocolsettings"]["address"])

        def on_sendable(self, event: Any) -> None:
            self.send_some(event.sender)

        def send_some(self, sender: Any) -> None:
            while sender.credit and self.sent < count and self.sent - self.accepted < under_way:
                message = messages[self.sent % len(messages)]
                sender.send(
                    Message(
                        durable=True,
                        body=message.body,
                        inferred=True,
                        properties=message.properties,
                        content_type=message.content_type,
                    )
                )
                self.sent += 1

        def on_accepted(self, event: Any) -> None:
            self.accepted += 1
            if self.accepted == count:
                event.connection.close()
            else:
                self.send_some(event.link)

    began, used = time.perf_counter(), time.process_time()
    Container(Sending()).run()
    return count / (time.perf_counter() - began), count / (time.process_time() - used)


_LOOPS: dict[str, Callable[[Mapping[str, Any]], AbstractAsyncContextManager[Send]]] = {
    "HTTP": _http,
    "KAFKA": _kafka,
    "MQTT3": _mqtt,
    "MQTT5": _mqtt,
    "NATS": _nats,
}
