"""Knative's objects in a whole service: who is ready gets the events, also while its object changes under load."""

import asyncio
import time
from collections import Counter, defaultdict
from typing import Self

import pytest
from aiohttp import web
from tests.controlplane.manifests import MESSAGING, broker, channel, generic, ref_to, subscription, trigger

from headrace.client import Client, Sink
from headrace.events.event import Event
from headrace.service.processes.service import ServiceProcess, free_port

_CHANGES = 12


def _event(number: int) -> Event:
    type_ = "even" if number % 2 == 0 else "odd"
    return Event({"specversion": "1.0", "id": str(number), "source": "/s", "type": type_}, b"{}")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """One service for all tests, each with channels of its own."""
    folder = tmp_path_factory.mktemp("knative")
    running = ServiceProcess(folder / "data", free_port(), folder / "service.log", {})
    running.start()
    asyncio.run(running.wait_until_ready())
    yield running
    assert running.stop() == 0


class Answering:
    """A sink: at `/fail` it fails, at `/ask` it answers with an event; what it got is kept by path."""

    def __init__(self) -> None:
        self.got: dict[str, list[web.BaseRequest]] = defaultdict(list)
        self.bodies: dict[str, list[bytes]] = defaultdict(list)

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._take)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        path = request.path.strip("/")
        self.got[path].append(request)
        self.bodies[path].append(await request.read())
        if path == "fail":
            return web.Response(status=500, text="no")
        if path != "ask":
            return web.Response(status=202)
        answer = {"ce-specversion": "1.0", "ce-id": "answer", "ce-source": "/sink", "ce-type": "answer"}
        return web.Response(status=200, headers=answer)


async def test_events_answers_and_dead_letters_go_where_the_manifests_say(service):
    """subscriber, reply and dead-letter sink, each by ref and by uri, in both versions; a trigger's answer to its broker."""
    async with Answering() as sink, Client(service.url) as client:
        ask, fail, more = ({"uri": f"{sink.url}/{path}"} for path in ("ask", "fail", "more"))
        quick = {"retry": 1, "backoffDelay": "PT0.05S"}
        by_ref = quick | {"deadLetterSink": ref_to("Channel", "dead")}
        asked, failed = generic("asked"), generic("failed", delivery=quick | {"deadLetterSink": more})
        old = {**generic("dead"), "apiVersion": "messaging.knative.dev/v1beta1"}
        objects = [
            asked, failed, old, channel("answers", "InMemoryChannel", MESSAGING),
            subscription("ask", "asked", subscriber=ask, reply=ref_to("InMemoryChannel", "answers")),
            subscription("answers", "answers", "InMemoryChannel", subscriber={"uri": f"{sink.url}/answered"}),
            subscription("fail", "failed", subscriber=fail, delivery=by_ref),
            subscription("fail-too", "failed", subscriber=fail),
            {**subscription("dead", "dead", subscriber={"uri": f"{sink.url}/dead"}), "apiVersion": "messaging.knative.dev/v1beta1"},
            broker("market"),
            trigger("asks", broker="market", filter={"attributes": {"type": "question"}}, subscriber=ask),
            trigger("hears", broker="market", filter={"expression": 'ce.type == "answer"'}, subscriber={"uri": f"{sink.url}/heard"}),
        ]  # fmt: skip
        for each in objects:
            each["metadata"]["namespace"] = "flow"
        applied = await client.apply(objects)
        for each in applied:
            ready = each["object"]["status"]["conditions"][0]
            assert (ready["type"], ready["status"]) == ("Ready", "True"), each
        question = Event({"specversion": "1.0", "id": "q", "source": "/s", "type": "question"}, b"?")
        for name in ("asked", "failed", "market"):
            await client.publish(question, f"flow/{name}")
        old_event = Event(
            {"specversion": "0.3", "id": "old", "source": "/s", "type": "t", "more": "kept"}, b"\xff\x00"
        )
        await client.publish(old_event, "flow/dead")

        def ids(path: str) -> list[str]:
            return sorted(request.headers["ce-id"] for request in sink.got[path])

        deadline = time.monotonic() + 60
        wanted = {"ask": ["q", "q"], "answered": ["answer"], "heard": ["answer"], "fail": ["q"] * 4, "dead": ["old", "q"], "more": ["q"]}  # fmt: skip
        while {path: ids(path) for path in wanted} != wanted:
            assert time.monotonic() < deadline, {path: ids(path) for path in wanted}
            await asyncio.sleep(0.1)
        for path in ("dead", "more"):
            [message] = [request for request in sink.got[path] if request.headers["ce-id"] == "q"]
            assert message.headers["ce-knativeerrordest"] == f"{sink.url}/fail"
            assert message.headers["ce-knativeerrorcode"] == "500"
        [kept] = [request for request in sink.got["dead"] if request.headers["ce-id"] == "old"]
        shown = {name: text for name, text in kept.headers.items() if name.startswith("ce-")}
        assert shown == {f"ce-{name}": text for name, text in old_event.attributes.items()}, "0.3 stays 0.3"
        assert b"\xff\x00" in sink.bodies["dead"]


async def test_subscribers_that_are_ready_get_every_event_while_objects_change(service):
    arrived: dict[str, Counter[str]] = defaultdict(Counter)

    def received(delivery):
        arrived[delivery.path.strip("/")][delivery.event.id] += 1

    async with Sink(received) as sink, Client(service.url) as client:

        def wishes(number: int):
            """The trigger wants even events, now said so and now so, and at another path of the sink each time."""
            filters = [[{"exact": {"type": "even"}}], [{"cesql": "type = 'even'"}]][number % 2]
            return trigger(
                "even", broker="b", filters=filters, subscriber={"uri": f"{sink.url}/even{number}"}
            )

        one, two = (
            {"uid": name, "generation": 1, "subscriberUri": f"{sink.url}/{name}"} for name in ("one", "two")
        )
        applied = await client.apply([channel("c", subscribers=[one, two]), broker("b"), wishes(0)])
        subscribers = applied[0]["object"]["status"]["subscribers"]
        assert [(each["uid"], each["ready"]) for each in subscribers] == [("one", "True"), ("two", "True")]

        sent: list[Event] = []
        stop = asyncio.Event()

        async def publish():
            while not stop.is_set():
                event = _event(len(sent))
                await asyncio.gather(client.publish(event, "default/b"), client.publish(event, "default/c"))
                sent.append(event)

        publishing = asyncio.create_task(publish())
        for number in range(1, _CHANGES + 1):
            await asyncio.sleep(0.25)
            [changed] = await client.apply([wishes(number)])
            assert changed["outcome"] == "configured"
        stop.set()
        await publishing

        def heard(*prefixes):
            return {id_ for path in list(arrived) for id_ in arrived[path] if path.startswith(prefixes)}

        every = {event.id for event in sent}
        even = {event.id for event in sent if event.type == "even"}
        deadline = time.monotonic() + 60
        while not (heard("one") == heard("two") == every and heard("even") == even):
            assert time.monotonic() < deadline, (len(every - heard("one")), len(even - heard("even")))
            await asyncio.sleep(0.1)
        assert len(every) > 100
        assert sum(arrived["one"].values()) == len(every), "nothing crashed, so nothing is delivered twice"
        assert sum(
            sum(counts.values()) for path, counts in arrived.items() if path.startswith("even")
        ) == len(even)
        assert len([path for path in arrived if path.startswith("even")]) > 2, "the sink changed on the way"
        await client.delete_object("triggers", "default", "even")
        left = [each["config"]["channel"] for each in await client.subscriptions()]
        assert [name for name in left if name.startswith("default/")] == ["default/c"] * 2
