"""`headrace bench delivery`: the dispatcher alone, protocol by protocol, next to its client library's own loop."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import uvloop
from sqlalchemy import create_engine, select

from headrace.ledger.tables import ATTEMPTS
from headrace.service.processes.process_table import memory_bytes
from headrace_bench.bare import run_bare
from headrace_bench.events import bench_events
from headrace_bench.figures import cpu_seconds, quantiles
from headrace_bench.harness import DispatcherAlone
from headrace_bench.servers import QUEUE, server
from headrace_bench.sinks import sinks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LOOK_SECONDS = 0.05
_GIVE_UP_SECONDS = 300.0
_AT_A_TIME = 1_000
_TICK_SECONDS = 0.01
# Hanging neighbours wait as long as this for an answer that doesn't come: in the time that is measured their queues
# fill, their attempts fail, and they are left alone.
_NEIGHBOURS_TIMEOUT = "PT3S"
# What a process does for the first time takes longer, and isn't what a steady rate is about.
_WARM_UP_SECONDS = 2.0
PROTOCOLS: dict[str, dict[str, Any]] = {
    "HTTP": {},
    "KAFKA": {"topicname": "headrace-bench"},
    "MQTT3": {"topicname": "headrace/bench"},
    "MQTT5": {"topicname": "headrace/bench"},
    "AMQP": {"address": f"/amq/queue/{QUEUE}"},
    "NATS": {"subject": "headrace.bench"},
}


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """What to measure. `servers` says where those of protocols are that aren't to be started here."""

    protocols: Sequence[str]
    servers: Mapping[str, str]
    kafka_jars: Path | None
    deliveries: int
    subscriptions: int
    concurrency: int
    rate: float
    seconds: float
    neighbours: int


class _Made(NamedTuple):
    """An attempt as the ledger has it."""

    position: int
    time: float
    seconds: float
    verdict: str


def run(plan: DeliveryPlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure each protocol, and then whether sinks that hang slow one that doesn't."""
    rows = [_served(plan, protocol, say) for protocol in plan.protocols]
    isolation = []
    if plan.neighbours:
        with sinks() as (quick, silent):
            isolation = [
                _isolated(plan, quick, silent, neighbours, want_all, say)
                for neighbours, want_all in ((0, False), (plan.neighbours, False), (plan.neighbours, True))
            ]
    return {"protocols": rows, "isolation": isolation}


def _served(plan: DeliveryPlan, protocol: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure a protocol while its server runs, and no other one."""
    if protocol == "HTTP" and "HTTP" not in plan.servers:
        with sinks() as (quick, _):
            return _protocol(plan, protocol, quick, say)
    say(f"{protocol}: starting a server")
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as folder,
        server(protocol, plan.servers.get(protocol), Path(folder), plan.kafka_jars) as address,
    ):
        return _protocol(plan, protocol, address, say)


def _protocol(plan: DeliveryPlan, protocol: str, address: str, say: Callable[[str], None]) -> dict[str, Any]:
    wish = {
        "protocol": protocol,
        "sink": address,
        "protocolsettings": PROTOCOLS[protocol],
        "config": {"delivery": {"concurrency": plan.concurrency}},
    }
    say(f"{protocol}: the library alone")
    bare = run_bare(protocol, wish, plan.deliveries, plan.concurrency * plan.subscriptions)
    say(f"{protocol}: the dispatcher from a backlog")
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        figures = uvloop.run(_backlog(plan, wish, Path(folder)))
    say(f"{protocol}: the dispatcher at {plan.rate:g} a second")
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        steady = uvloop.run(_steady(plan, [wish], Path(folder)))
    return {
        "protocol": protocol,
        **figures,
        "library/s": round(bare.rate),
        "library per CPU s": round(bare.per_cpu_second),
        "% of library": round(100 * figures["deliveries/s"] / bare.rate),
        **{f"steady {name}": value for name, value in steady.items()},
    }


async def _backlog(plan: DeliveryPlan, wish: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Let everything wait before the dispatcher starts, so that only it decides how fast it goes."""
    count = plan.deliveries // plan.subscriptions
    with DispatcherAlone(folder, {}) as harness:
        subscriptions = [harness.subscribe(wish) for _ in range(plan.subscriptions)]
        events = bench_events(count)
        for start in range(0, count, _AT_A_TIME):
            harness.send(events[start : start + _AT_A_TIME], lambda _: subscriptions)
        await harness.start()
        started, most = cpu_seconds(harness.service.pid), 0
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        while not harness.is_settled and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
            most = max(most, memory_bytes(harness.service.pid))
        used = cpu_seconds(harness.service.pid) - started
        harness.service.stop()
        made = _attempts(harness.data, subscriptions)
    done = [each for each in made if each.verdict == "done"]
    took = max(each.time + each.seconds for each in made) - min(each.time for each in made)
    return {
        "deliveries/s": round(len(done) / took),
        "per CPU s": round(len(done) / used),
        "failed": len(made) - len(done),
        "missing": count * plan.subscriptions - len(done),
        **{f"{name} ms": value for name, value in quantiles([each.seconds for each in done]).items()},
        "MB": most >> 20,
    }


async def _steady(
    plan: DeliveryPlan, wishes: Sequence[Mapping[str, Any]], folder: Path, *, want_all: bool = False
) -> dict[str, float]:
    """Plan deliveries at a rate; return how long the first subscription's took from the outbox to their end.

    It gets every event, and the others get as many together, or each of them every one.
    """
    with DispatcherAlone(folder, {}) as harness:
        first, *others = [harness.subscribe(wish) for wish in wishes]

        def wanted(position: int) -> list[str]:
            if want_all:
                return [first, *others]
            return [first, others[position % len(others)]] if others else [first]

        await harness.start()
        planned: dict[int, float] = {}
        events = bench_events(max(1, int(plan.rate * _TICK_SECONDS)))
        began, sent = time.time(), 0
        for tick in range(int((_WARM_UP_SECONDS + plan.seconds) / _TICK_SECONDS)):
            await asyncio.sleep(max(began + tick * _TICK_SECONDS - time.time(), 0))
            now = time.time()
            positions = harness.send(events, wanted)
            sent += len(positions)
            if tick * _TICK_SECONDS >= _WARM_UP_SECONDS:
                planned.update(dict.fromkeys(positions, now))
        took = time.time() - began
        await _all_made(harness, first, sent)
        harness.service.stop()
        made = _attempts(harness.data, [first])
    latencies = {
        each.position: each.time + each.seconds - planned[each.position]
        for each in made
        if each.position in planned
    }
    missing = dict.fromkeys(planned.keys() - latencies.keys(), _GIVE_UP_SECONDS)
    found = quantiles([*latencies.values(), *missing.values()])
    return {"events/s": round(sent / took), **{f"{name} ms": value for name, value in found.items()}}


async def _all_made(harness: DispatcherAlone, subscription: str, count: int) -> None:
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    while len(_attempts(harness.data, [subscription])) < count and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.5)


def _isolated(
    plan: DeliveryPlan, quick: str, silent: str, neighbours: int, want_all: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Measure one live sink, beside so many that take connections and say nothing."""
    say(f"HTTP: a live sink with {neighbours} that hang")
    live = {"protocol": "HTTP", "sink": quick}
    hanging = {
        "protocol": "HTTP",
        "sink": silent,
        "config": {"delivery": {"timeout": _NEIGHBOURS_TIMEOUT}},
    }
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        took = uvloop.run(_steady(plan, [live, *[hanging] * neighbours], Path(folder), want_all=want_all))
    planned = took["events/s"] * (1 + (neighbours if want_all else bool(neighbours)))
    return {
        "hanging neighbours": neighbours,
        "planned/s": round(planned),
        **took,
    }


def _attempts(data: Path, subscriptions: Sequence[str]) -> list[_Made]:
    engine = create_engine(f"sqlite:///{data}/delivery.db")
    query = select(ATTEMPTS.c.position, ATTEMPTS.c.time, ATTEMPTS.c.seconds, ATTEMPTS.c.verdict)
    with engine.connect() as connection:
        rows = connection.execute(query.where(ATTEMPTS.c.subscription.in_(subscriptions))).all()
    engine.dispose()
    return [_Made(*row) for row in rows]
