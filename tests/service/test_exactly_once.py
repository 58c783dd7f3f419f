"""Faults under load: whatever dies or fills up, each pair of event and subscription is planned exactly once.

One service for all of them, without a dispatcher, so that the outbox keeps everything it ever planned. Its folders are
small file systems of their own. Each fault comes while producers post; after it, everything that was routed since the
first one is compared with what the log holds.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.eventlog.conftest import Disk
from tests.service.clients import ClientLedger

from headrace.client import Client
from headrace.errors import ServiceRefused, ServiceUnreachable
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.reader import SegmentReader
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.service.processes.process_table import parent_of, role_processes, session_processes
from headrace.service.processes.service import ServiceProcess, free_port

_PRODUCERS = 2
_BATCH = 20
_FOLDERS = ("log", "outbox", "pipeline")
_WISHES = {
    "all": ([], lambda type_: True),
    "even": ([{"suffix": {"type": ".even"}}], lambda type_: type_.endswith(".even")),
    "not-odd": ([{"not": {"cel": 'type == "fault.odd"'}}], lambda type_: type_ != "fault.odd"),
}


class Stage:
    """The service under test, and the ledger of what it said and has to have done."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        settings = {
            "ROLES": '["http", "pipeline"]',
            "API_MIN_FREE_BYTES": "0",
            "PIPELINE_RESTART_SECONDS": "0.2",
        }
        self.service = ServiceProcess(self.data, free_port(), folder / "service.log", settings)
        self.disks = {name: Disk(self.data / name) for name in _FOLDERS}
        self.accepted: set[str] = set()
        self.refused = 0
        self.subscriptions: dict[str, Callable[[str], bool]] = {}
        self._number = 0

    async def subscribe(self) -> None:
        async with Client(self.service.url) as client:
            for filters, wants in _WISHES.values():
                wish = {"sink": "http://127.0.0.1:9/", "protocol": "HTTP", "filters": filters}
                self.subscriptions[(await client.subscribe(wish))["id"]] = wants

    @asynccontextmanager
    async def load(self) -> AsyncIterator[None]:
        """Post without a pause; an event counts as accepted when its 202 came."""
        stop = asyncio.Event()
        producers = [asyncio.create_task(self._produce(stop)) for _ in range(_PRODUCERS)]
        try:
            await asyncio.sleep(0.5)
            yield
        finally:
            stop.set()
            await asyncio.gather(*producers)

    async def _produce(self, stop: asyncio.Event) -> None:
        async with Client(self.service.url, timeout_seconds=5) as client:
            while not stop.is_set():
                self._number += _BATCH
                numbers = range(self._number - _BATCH, self._number)
                try:
                    await client.publish_batch([_event(number) for number in numbers])
                except (ServiceRefused, ServiceUnreachable):
                    self.refused += 1
                else:
                    self.accepted |= {str(number) for number in numbers}
                await asyncio.sleep(0.03)

    def covered(self) -> int:
        return LocalOutboxReader(self.data / "outbox").covered()[0]

    def end(self) -> int:
        return SegmentReader(self.data / "log").end()[0]

    async def until(self, happened: Callable[[], bool], what: str, seconds: float = 400) -> None:
        deadline = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < deadline, f"{what}:\n{self.service.tail()}"
            await asyncio.sleep(0.05)

    async def until_routed(self) -> None:
        """Wait until everything is routed that was accepted before now, and more after it."""
        end = self.end() + 1
        await self.until(lambda: self.covered() >= end, f"position {end} isn't routed")

    async def until_stopped(self) -> None:
        """Wait until the query has failed once more than it had."""
        text = "routing stopped and starts again"
        before = self.service.output.read_text().count(text)
        await self.until(lambda: self.service.output.read_text().count(text) > before, "routing doesn't stop")

    def events(self) -> dict[int, tuple[str, str]]:
        """The id and the type of each event in the log, by position."""
        names = ("position", "id", "type")
        return {
            position: (id_, type_)
            for batch in SegmentReader(self.data / "log").read(0, self.covered())
            for position, id_, type_ in zip(*(batch[name].to_pylist() for name in names), strict=True)
        }

    def planned(self) -> list[tuple[int, str]]:
        """All pairs of position and subscription in the outbox."""
        return [
            pair
            for _, table in LocalOutboxReader(self.data / "outbox").read(LogPosition())
            for pair in zip(table["position"].to_pylist(), table["subscription"].to_pylist(), strict=True)
        ]

    def check(self) -> None:
        events = self.events()
        ids = [id_ for id_, _ in events.values()]
        assert len(ids) == len(set(ids)), "an event is in the log twice"
        assert self.accepted <= set(ids), "an accepted event isn't in the log"
        planned = [pair for pair in self.planned() if pair[1] in self.subscriptions]
        expected = {
            (position, subscription)
            for position, (_, type_) in events.items()
            for subscription, wants in self.subscriptions.items()
            if wants(type_)
        }
        assert len(planned) == len(set(planned)), "a pair is planned twice"
        assert set(planned) == expected


def _event(number: int) -> Event:
    type_ = "fault.odd" if number % 2 else "fault.even"
    return Event({"specversion": "1.0", "id": str(number), "source": "/s", "type": type_}, b"%d" % number)


# The faults


async def kill_worker(stage: Stage) -> None:
    """Spark tries its tasks again in another worker, against the same version of the subscriptions."""
    daemons = {
        p for p, command in session_processes(stage.service.pid).items() if b"pyspark.daemon" in command
    }
    workers = [process for process in daemons if parent_of(process) in daemons]
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)


async def kill_jvm(stage: Stage) -> None:
    """The driver's own one: a process that the JVM forks is called java too until it becomes another program."""
    [driver] = role_processes(stage.service.pid, "pipeline")
    [jvm] = [
        process
        for process, command in session_processes(stage.service.pid).items()
        if command[0].endswith(b"java") and parent_of(process) == driver
    ]
    os.kill(jvm, signal.SIGKILL)


async def kill_driver(stage: Stage) -> None:
    [driver] = role_processes(stage.service.pid, "pipeline")
    os.kill(driver, signal.SIGKILL)


async def fill_log(stage: Stage) -> None:
    disk, before = stage.disks["log"], stage.refused
    disk.fill()
    await stage.until(lambda: stage.refused > before, "nothing is refused")
    disk.free()


async def fill_outbox(stage: Stage, meanwhile: Callable[[Path], None] = lambda _: None) -> None:
    disk = stage.disks["outbox"]
    disk.fill()
    await stage.until_stopped()
    meanwhile(stage.data / "pipeline" / "checkpoint")
    disk.free()


async def fill_work(stage: Stage) -> None:
    disk = stage.disks["pipeline"]
    disk.fill()
    await stage.until_stopped()
    disk.free()


async def truncate_checkpoint(stage: Stage) -> None:
    def truncate(folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                os.truncate(path, path.stat().st_size // 2)

    await fill_outbox(stage, truncate)


async def empty_checkpoint(stage: Stage) -> None:
    await fill_outbox(stage, lambda folder: shutil.rmtree(folder, ignore_errors=True))


async def roll_checkpoint_back(stage: Stage) -> None:
    """And kill the driver at the same time: what it finds is older than what it wrote."""
    checkpoint, old = stage.data / "pipeline" / "checkpoint", stage.data / "old"
    shutil.copytree(checkpoint, old, ignore_dangling_symlinks=True)
    await stage.until_routed()
    await kill_driver(stage)
    shutil.rmtree(checkpoint, ignore_errors=True)
    shutil.copytree(old, checkpoint)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("faults"))
    mounted = []
    try:
        for disk in stage.disks.values():
            disk.folder.mkdir(parents=True)
            command = ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(disk.folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"a small file system can't be mounted here: {done.stderr.strip()}")
            mounted.append(disk.folder)
        stage.service.start()
        asyncio.run(stage.service.wait_until_ready(240))
        asyncio.run(stage.subscribe())
        yield stage
    finally:
        if stage.service.is_running:
            stage.service.kill()
        for folder in mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


async def test_a_subscription_sees_exactly_the_events_accepted_while_it_is_there(stage):
    ledger = ClientLedger(stage.service.url)
    await ledger.run()
    await stage.until(lambda: stage.covered() == stage.end(), "the rest isn't routed")
    events = stage.events()
    pairs = [(events[position][0], subscription) for position, subscription in stage.planned()]
    ledger.check([pair for pair in pairs if pair[1] in ledger.subscribed])


@pytest.mark.parametrize(
    "fault",
    [
        kill_worker,
        fill_log,
        fill_outbox,
        fill_work,
        truncate_checkpoint,
        empty_checkpoint,
        kill_jvm,
        roll_checkpoint_back,
    ],
    ids=lambda fault: fault.__name__,
)
async def test_every_pair_is_planned_exactly_once(stage, fault):
    async with stage.load():
        await fault(stage)
        await stage.until_routed()
    await stage.until(lambda: stage.covered() == stage.end(), "the rest isn't routed")
    stage.check()
