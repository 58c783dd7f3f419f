"""A disk that is full for longer than anybody's patience: every role waits, says so, and goes on by itself."""

import asyncio
import time
from contextlib import closing, suppress

import pyarrow as pa
from tests.disks import mount_ext4, small_disk

from headrace.client import Client, Sink
from headrace.errors import HeadraceError
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.reader import SegmentReader
from headrace.events.event import Event
from headrace.service.processes.process_table import role_processes
from headrace.service.processes.service import ServiceProcess, free_port

_ROLES = ("http", "dispatcher")
_PATIENCE = 1.0


class Route:
    """What the pipeline does, in this process and without Spark: every event is for the one subscription."""

    def __init__(self, data, subscription):
        self._reader = SegmentReader(data / "log")
        self._outbox = LocalOutboxWriter(data / "outbox")
        self._subscription = subscription
        self.close = self._outbox.close

    def turn(self):
        """Plan what came; on a full disk that fails, and is done again."""
        start, end = self._outbox.covered(), self._reader.end()
        positions = [position for first, last in start.ranges_to(end) for position in range(first, last)]
        if positions:
            pairs = pa.table({"position": positions, "subscription": [self._subscription] * len(positions)})
            self._outbox.write(start, end, pairs)


async def publish(client, accepted, name):
    """Publish one event; on a full disk it is refused."""
    with suppress(HeadraceError):
        await client.publish(
            Event({"specversion": "1.0", "id": name, "source": "/s", "type": "t"}, b"x" * 2_000)
        )
        accepted.add(name)


async def load(client, route, accepted, stop):
    number = 0
    while not stop.is_set():
        number += 1
        await publish(client, accepted, f"e{number}")
        with suppress(OSError):
            await asyncio.to_thread(route.turn)
        await asyncio.sleep(0.01)


async def until(client, holds, seconds=60.0):
    """Wait for what /readyz is to say; return it."""
    deadline = time.monotonic() + seconds
    while not holds(said := await client.readiness()):
        assert time.monotonic() < deadline, said
        await asyncio.sleep(0.1)
    return said


async def test_a_full_disk_ends_nothing_and_loses_nothing(tmp_path):
    settings = {
        "ROLES": '["http", "dispatcher"]',
        "DELIVERY_PATIENCE_SECONDS": str(_PATIENCE),
        "STORE_PATIENCE_SECONDS": "0.5",
        "API_MIN_FREE_BYTES": str(1 << 16),
        "ARCHIVE_ENABLED": "false",
    }
    with small_disk(mount_ext4, tmp_path, 24 << 20) as disk:
        data = disk.folder / "data"
        # Its log is on the full disk, too.
        service = ServiceProcess(data, free_port(), disk.folder / "service.log", settings)
        service.start()
        try:
            await service.wait_until_ready()
            await _fill_and_free(disk, service, data)
            assert service.stop() == 0
        finally:
            if service.is_running:
                service.kill()


async def _fill_and_free(disk, service, data):
    processes = {role: role_processes(service.pid, role) for role in _ROLES}
    arrived: set[str] = set()
    accepted: set[str] = set()
    stop = asyncio.Event()
    async with Sink(lambda got: arrived.add(got.event.id)) as sink, Client(service.url) as client:
        made = await client.subscribe({"sink": sink.url, "protocol": "HTTP"})
        with closing(Route(data, made["id"])) as route:
            loading = asyncio.create_task(load(client, route, accepted, stop))
            while len(arrived) < 20:
                await asyncio.sleep(0.02)
            disk.fill()
            said = await until(client, lambda said: set(said["roles"].values()) == {"blocked"})
            assert not said["ready"]
            assert "Make room there" in said["details"]["http"]["problem"], said
            assert "free some space" in said["details"]["dispatcher"]["problem"], said
            await asyncio.sleep(3 * _PATIENCE)
            assert {role: role_processes(service.pid, role) for role in _ROLES} == processes, service.tail()
            disk.free()
            before = len(accepted)
            await until(client, lambda said: said["ready"])
            while len(accepted) < before + 20:
                await asyncio.sleep(0.02)
            stop.set()
            await loading
            async with asyncio.timeout(30):
                while not accepted <= arrived:
                    await asyncio.to_thread(route.turn)
                    await asyncio.sleep(0.05)
    assert {role: role_processes(service.pid, role) for role in _ROLES} == processes, service.tail()
    assert "Traceback" not in service.output.read_text()
