"""Knative's objects in a whole service: who is ready gets the events, also while its object changes under load."""

import asyncio
import time
from collections import Counter, defaultdict

from tests.controlplane.manifests import broker, channel, trigger

from headrace.client import Client, Sink
from headrace.events.event import Event

_CHANGES = 12


def _event(number: int) -> Event:
    type_ = "even" if number % 2 == 0 else "odd"
    return Event({"specversion": "1.0", "id": str(number), "source": "/s", "type": type_}, b"{}")


async def test_subscribers_that_are_ready_get_every_event_while_objects_change(make_service):
    service = make_service()
    service.start()
    await service.wait_until_ready()
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
        assert [each["config"]["channel"] for each in await client.subscriptions()] == ["default/c"] * 2
    assert service.stop() == 0
