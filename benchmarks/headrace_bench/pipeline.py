"""`headrace bench pipeline`: the route at a steady rate and from a backlog, with many subscriptions."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
import uuid
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import uvloop

from headrace.client import Client
from headrace.config import load_config
from headrace.database.database import Database
from headrace.events.bindings.http import encode_batch, encode_binary
from headrace.events.positions import LogPosition
from headrace.service.processes.process_table import role_processes
from headrace.service.processes.service import ServiceProcess, free_port
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import parse_subscription
from headrace_bench.events import bench_events
from headrace_bench.figures import counter, cpu_seconds, observed, quantiles
from headrace_bench.load import encode_request, fill, pace
from headrace_bench.log_ends import kafka_ends, local_ends
from headrace_bench.quick_sink import QuickSink
from headrace_bench.route_watch import RouteWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.eventlog.kafka.settings import KafkaSettings
    from headrace.events.event import Event
    from headrace_bench.log_ends import Ends

_GIVE_UP_SECONDS = 120.0
_START_SECONDS = 600.0
_POOL = 20_000
_BACKLOG_BATCH = 200
_PRODUCERS = 8


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """What to measure with one number of subscriptions. Each event matches exactly one of them."""

    subscriptions: int
    rate: float
    seconds: float
    batch: int
    warm_up_seconds: float
    idle_seconds: float
    backlog: int
    deliver: bool
    log: str = "local"


def run(plan: PipelinePlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Start a service of its own and measure."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        return uvloop.run(_run(plan, Path(folder), say))


async def _run(plan: PipelinePlan, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    roles = '["http", "pipeline", "dispatcher"]' if plan.deliver else '["http", "pipeline"]'
    settings = {"ROLES": roles, "API_MAX_BACKLOG_EVENTS": str(max(plan.backlog * 2, 1_000_000))}
    kafka = _own_topics() if plan.log == "kafka" else None
    if kafka is not None:
        topics = msgspec.json.encode(kafka.topics).decode()
        settings |= {"LOG_KIND": "kafka", "KAFKA_TOPICS": topics, "KAFKA_OUTBOX": kafka.outbox}
    service = ServiceProcess(folder / "data", free_port(), folder / "service.log", settings)
    ends = partial(local_ends, service.data) if kafka is None else partial(kafka_ends, kafka)
    bench = _Bench(plan, service, ends, say)
    async with QuickSink(bench.arrived) as sink:
        say(f"storing {plan.subscriptions:,} subscriptions")
        _store_subscriptions(folder / "data", plan.subscriptions, sink.url)
        service.start()
        try:
            say("starting the service")
            await service.wait_until_ready(_START_SECONDS)
            return await bench.measure()
        finally:
            service.stop()


def _own_topics() -> KafkaSettings:
    """Return what is set for Kafka, with topics that nobody else writes."""
    name = f"headrace-bench-{uuid.uuid4().hex[:8]}"
    return replace(load_config().kafka, topics=(name,), outbox=f"{name}-outbox")


def _store_subscriptions(data: Path, count: int, sink: str) -> None:
    store = Store(Database(f"sqlite:///{data}/store.db"))
    wishes = ({"sink": sink, "protocol": "HTTP", "filters": [_filter(number)]} for number in range(count))
    store.create_many(map(parse_subscription, wishes), LogPosition())
    store.database.close()


def _filter(number: int) -> dict[str, Any]:
    """One in four looks at the data as well, so that it has to be read."""
    kind: dict[str, Any] = {"exact": {"type": f"com.example.order.{number}"}}
    if number % 4:
        return kind
    return {"all": [kind, {"streamer": [{"field": "amount", "op": ">", "value": 0}]}]}


class _Bench:
    """One service under load."""

    def __init__(
        self,
        plan: PipelinePlan,
        service: ServiceProcess,
        ends: Callable[[], Ends],
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._service = service
        self._ends = ends
        self._say = say
        self._sent: dict[str, float] = {}
        self._arrivals: dict[str, float] = {}

    def arrived(self, id_: str, now: float) -> None:
        self._arrivals.setdefault(id_, now)

    async def measure(self) -> dict[str, Any]:
        plan = self._plan
        async with Client(self._service.url) as client:
            self._say(f"warming up for {plan.warm_up_seconds:g} s")
            await self._send("warm", plan.warm_up_seconds)
            with RouteWatch(self._ends(), self._service.pid) as watch:
                await self._settled(watch)
            self._say(f"measuring for {plan.seconds:g} s")
            cpu, before = cpu_seconds(self._service.pid), await client.metrics()
            began = time.monotonic()
            with RouteWatch(self._ends(), self._service.pid) as watch:
                accepted = await self._send("bench", plan.seconds)
                await self._settled(watch)
            cpu, taken = cpu_seconds(self._service.pid) - cpu, time.monotonic() - began
            after = await client.metrics()
            figures = {
                "subscriptions": plan.subscriptions,
                "events/s": round(len(accepted) * plan.batch / plan.seconds),
                "refused": (self._requests_in(plan.seconds) - len(accepted)) * plan.batch,
                "missing": len(accepted) * plan.batch - _routed(before, after),
                "POST to 202 ms": quantiles(accepted),
                "202 to outbox ms": quantiles(watch.latencies()),
                "lag": _shape(watch.lag()),
                "MB": _shape([size >> 20 for _, size in watch.memory]),
                "µs/event": _stages(before, after),
                "CPU %": round(100 * cpu / taken),
            }
            if plan.deliver:
                figures["POST to sink ms"] = quantiles(await self._delivered())
        if plan.idle_seconds:
            figures["idle CPU %"] = await self._idle()
        if plan.backlog:
            figures["drained events/s"] = round(await self._drain())
        return figures | {"series": {"lag": watch.lag(), "memory": [size for _, size in watch.memory]}}

    def _requests_in(self, seconds: float) -> int:
        return int(self._plan.rate * seconds) // self._plan.batch

    async def _send(self, name: str, seconds: float) -> list[float]:
        """Send at the rate; return how long each 202 took."""
        plan, count = self._plan, self._requests_in(seconds)
        groups = self._events(name, plan.batch, count)

        def on_sent(number: int, planned: float) -> None:
            if plan.deliver:
                self._sent.update((event.id, planned) for event in groups[number])

        self._sent.clear()
        rate, requests = plan.rate / plan.batch, cycle(_requests(groups))
        return await pace("127.0.0.1", self._service.port, rate, requests, count, on_sent)

    def _events(self, name: str, batch: int, count: int) -> list[list[Event]]:
        """Make requests' events; a pool that is gone through again and again, unless each has to be found again."""
        pool = count if self._plan.deliver else min(count, max(1, _POOL // batch))
        events = bench_events(pool * batch, name, self._plan.subscriptions)
        return [events[start : start + batch] for start in range(0, len(events), batch)]

    async def _settled(self, watch: RouteWatch) -> None:
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        while watch.behind and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def _delivered(self) -> list[float]:
        """Wait for all deliveries and return how long each took; what is missing took the time of giving up."""
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        while self._sent.keys() - self._arrivals.keys() and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return [
            self._arrivals[id_] - planned if id_ in self._arrivals else _GIVE_UP_SECONDS
            for id_, planned in self._sent.items()
        ]

    async def _drain(self) -> float:
        """Stop the driver, fill the log, and see how fast it is routed when the driver goes on."""
        self._say(f"filling a backlog of {self._plan.backlog:,} events")
        [driver] = role_processes(self._service.pid, "pipeline")
        os.kill(driver, signal.SIGSTOP)
        try:
            count = self._plan.backlog // _BACKLOG_BATCH
            requests = cycle(_requests(self._events("backlog", _BACKLOG_BATCH, count)))
            await fill("127.0.0.1", self._service.port, _PRODUCERS, islice(requests, count))
        finally:
            os.kill(driver, signal.SIGCONT)
        self._say("draining it")
        with RouteWatch(self._ends(), self._service.pid) as watch:
            await self._settled(watch)
        return watch.rate()

    async def _idle(self) -> float:
        """Return the percentage of one core that the service uses when nothing happens."""
        self._say(f"doing nothing for {self._plan.idle_seconds:g} s")
        before = cpu_seconds(self._service.pid)
        await asyncio.sleep(self._plan.idle_seconds)
        return round(100 * (cpu_seconds(self._service.pid) - before) / self._plan.idle_seconds, 1)


def _requests(groups: list[list[Event]]) -> list[bytes]:
    messages = [encode_binary(group[0]) if len(group) == 1 else encode_batch(group) for group in groups]
    return [encode_request(message, "127.0.0.1") for message in messages]


def _routed(before: str, after: str) -> int:
    """Count planned deliveries, one for each event: positions in Kafka are also those of transactions' marks."""
    name = "headrace_deliveries_planned"
    return round(counter(after, name) - counter(before, name))


def _stages(before: str, after: str) -> dict[str, float]:
    """Return what an event costs, stage by stage: seconds of whoever works, not of the clock."""

    def spent(name: str, **labels: str) -> float:
        return observed(after, name, **labels) - observed(before, name, **labels)

    routed = max(_routed(before, after), 1)
    matching, walk, rest = (
        spent(f"headrace_match_{name}") for name in ("seconds", "walk_seconds", "residual_seconds")
    )
    stage = {name: spent("headrace_route_seconds", stage=name) for name in ("source", "read", "outbox")}
    batches = spent("headrace_batch_seconds")
    seconds = {
        "source": stage["source"],
        "read": stage["read"],
        "parse": max(matching - walk - rest, 0.0),
        "match": walk + rest,
        "outbox": stage["outbox"],
        "batch": batches,
    }
    return {name: round(1e6 * value / routed, 1) for name, value in seconds.items()}


def _shape(series: list[int]) -> dict[str, int]:
    """Tell whether it grows: the means of its first and its last quarter, and the most."""
    if not series:
        return {}
    quarter = max(1, len(series) // 4)
    first, last = series[:quarter], series[-quarter:]
    return {"begin": sum(first) // len(first), "end": sum(last) // len(last), "max": max(series)}
