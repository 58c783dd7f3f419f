"""What stands still behind the ingress makes it refuse events, and nothing grows meanwhile."""

import asyncio
import os
import signal
from typing import Any

import pyarrow as pa

from headrace.client import Client
from headrace.errors import ServiceRefused
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.reader import SegmentReader
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.service.processes.process_table import role_processes

_EVENTS = [
    Event({"specversion": "1.0", "id": f"{number}", "source": "/s", "type": "t"}, bytes(10_000))
    for number in range(10)
]


async def _publish_until_refused(client: Client, most: int = 2000) -> tuple[int, dict[str, Any]]:
    """Post batches of 100 kB; return how many were accepted, and the problem of the first that wasn't."""
    for accepted in range(most):
        try:
            await client.publish_batch(_EVENTS)
        except ServiceRefused as refusal:
            return accepted, refusal.problem
    raise AssertionError("nothing was refused")


async def _publish_until_accepted(client: Client, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while True:
            try:
                await client.publish_batch(_EVENTS)
            except ServiceRefused:
                await asyncio.sleep(0.1)
            else:
                return


async def test_a_pipeline_and_a_dispatcher_that_stand_still(make_service):
    """The test is the pipeline: it routes when it wants to."""
    service = make_service(
        ROLES='["http", "dispatcher"]', API_MAX_BACKLOG_BYTES="3000000", API_MAX_OUTBOX_BYTES="1000000"
    )
    service.start()
    async with Client(service.url) as client:
        await service.wait_until_ready()
        log, outbox = service.data / "log", LocalOutboxWriter(service.data / "outbox")
        reader = SegmentReader(log)

        def route(pairs_per_event: int) -> None:
            end = reader.end()
            positions = [each for each in range(outbox.covered()[0], end[0]) for _ in range(pairs_per_event)]
            subscriptions = [f"{number:064d}" for number in range(len(positions))]
            pairs = {"position": positions, "subscription": subscriptions}
            outbox.write(outbox.covered(), end, pa.table(pairs))

        accepted, problem = await _publish_until_refused(client)
        assert problem["code"] == "log-behind"
        assert accepted >= 30
        grown = sum(each.stat().st_size for each in log.glob("*.seg"))
        assert 3_000_000 < grown < 60_000_000
        with_nothing_read = await _publish_until_refused(client)
        assert with_nothing_read[0] == 0
        route(0)
        await _publish_until_accepted(client)

        [dispatcher] = role_processes(service.pid, "dispatcher")
        os.kill(dispatcher, signal.SIGSTOP)
        route(2000)
        await asyncio.sleep(1.5)  # it is looked at twice a second
        _, problem = await _publish_until_refused(client)
        assert problem["code"] == "delivery-behind"
        assert "headrace_outbox_bytes" in await client.metrics()
        assert LocalOutboxReader(service.data / "outbox").size(LogPosition()) > 1_000_000
        os.kill(dispatcher, signal.SIGCONT)
        await _publish_until_accepted(client)
        outbox.close()
    assert service.stop() == 0
