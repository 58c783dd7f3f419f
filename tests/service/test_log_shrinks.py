"""The log of a running service shrinks behind the archive, and nobody who looks back sees a difference."""

import asyncio
import time
from collections import Counter

from headrace.client import Client, Sink
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import list_segments
from headrace.events.event import Event

_EVENTS = 400
_GONE = 300
_PATIENCE = 90.0


def numbered(number: int) -> Event:
    attributes = {"specversion": "1.0", "id": str(number), "source": "/s", "type": f"t{number % 4}"}
    return Event(attributes, b"%d" % number)


async def until(holds, problem: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < deadline, problem
        await asyncio.sleep(0.1)


async def test_what_left_the_log_is_found_counted_and_delivered_from_the_archive(make_service):
    service = make_service(
        LOG_SEGMENT_BYTES="20000",
        LOG_RETENTION_SECONDS="0",
        LOG_RETENTION_BYTES="0",
        ARCHIVE_INTERVAL_SECONDS="0.5",
        ARCHIVE_GRACE_SECONDS="1",
    )
    service.start()
    await service.wait_until_ready()
    log, arrived = service.data / "log", Counter[tuple[int, bool]]()

    def received(delivery) -> None:
        arrived[int(delivery.event.id), "headracereplay" in delivery.event.attributes] += 1

    async with Client(service.url) as client, Sink(received) as sink:
        subscription = (await client.subscribe({"sink": sink.url, "protocol": "HTTP"}))["id"]
        for start in range(0, _EVENTS, 20):
            await client.publish_batch([numbered(n) for n in range(start, start + 20)])
        await until(lambda: len(arrived) == _EVENTS, "not everything was delivered")
        segments = {each.path.name for each in list_segments(log)}

        async def position_of(number: int) -> int:
            wanted = {"filter": {"exact": {"id": str(number)}}}
            found = await client.finished(await client.seek(subscription, wanted, dry_run=True))
            assert found["event"]["id"] == str(number)
            return int(found["position"])

        assert await position_of(37) == 37
        await until(lambda: SegmentReader(log).start()[0] > _GONE, "the log doesn't shrink")
        kept = {each.path.name for each in list_segments(log)}
        assert len(segments - kept) > len(segments) // 2, "whole segments are gone"
        assert len(SegmentReader(log).end()) == 1
        assert SegmentReader(log).end()[0] == _EVENTS

        assert await position_of(37) == 37
        counted = await client.finished(await client.backtest({"exact": {"type": "t1"}}))
        assert (counted["events"], counted["matched"]) == (_EVENTS, _EVENTS // 4)

        arrived.clear()
        replayed = await client.finished(
            await client.replay(subscription, {"position": 20}, {"position": 60})
        )
        assert replayed == {"found": 40, "delivered": 40, "dead": 0}
        assert arrived == Counter((number, True) for number in range(20, 60))

        arrived.clear()
        wanted = {"filter": {"exact": {"id": "37"}}}
        sought = await client.finished(await client.seek(subscription, wanted))
        await client.publish(numbered(_EVENTS))
        await client.finished(await client.job(sought["catchUp"]))
        await until(lambda: len(arrived) >= _EVENTS + 1 - 37, "not everything was delivered from there")
        assert arrived == Counter((number, False) for number in range(37, _EVENTS + 1))
        assert await position_of(_EVENTS) == _EVENTS
    assert service.stop() == 0, service.tail()
