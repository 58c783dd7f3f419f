"""`headrace bench pipeline`: from the POST to the sink at a steady rate, and the cost of doing nothing."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from headrace.bench.events import bench_events
from headrace.bench.figures import counter, cpu_seconds, observed, quantiles
from headrace.bench.load import encode_request, pace
from headrace.bench.quick_sink import QuickSink
from headrace.client import Client
from headrace.events.bindings.http import encode_batch, encode_binary
from headrace.service.process import ServiceProcess, free_port

if TYPE_CHECKING:
    from collections.abc import Callable

_GIVE_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """What to measure. Each event matches exactly one subscription."""

    rate: float
    seconds: float
    batch: int
    subscriptions: int
    warm_up_seconds: float
    idle_seconds: float


def run(plan: PipelinePlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Start a service of its own and measure."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        return uvloop.run(_run(plan, Path(folder), say))


async def _run(plan: PipelinePlan, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    service = ServiceProcess(folder / "data", free_port(), folder / "service.log")
    arrivals: dict[str, float] = {}
    repeated = 0

    def on_event(id_: str, now: float) -> None:
        nonlocal repeated
        repeated += id_ in arrivals
        arrivals.setdefault(id_, now)

    service.start()
    try:
        say("starting the service")
        await service.wait_until_ready()
        async with QuickSink(on_event) as sink, Client(service.url) as client:
            for kind in range(plan.subscriptions):
                await client.subscribe(
                    {
                        "sink": sink.url,
                        "protocol": "HTTP",
                        "filters": [{"exact": {"type": f"com.example.order.{kind}"}}],
                    }
                )
            say(f"warming up for {plan.warm_up_seconds:g} s")
            await _send(plan, service, "warm", plan.warm_up_seconds, arrivals)
            say(f"measuring for {plan.seconds:g} s")
            cpu_before, before = cpu_seconds(service.pid), await client.metrics()
            sent, accepted, drained = await _send(plan, service, "bench", plan.seconds, arrivals)
            cpu_used, after = cpu_seconds(service.pid) - cpu_before, await client.metrics()
            say(f"doing nothing for {plan.idle_seconds:g} s")
            idle = await _idle(service, plan.idle_seconds)
    finally:
        service.stop()
    measured = {id_: arrivals[id_] - began for id_, began in sent.items() if id_ in arrivals}
    batches = counter(after, "headrace_deliveries_planned") - counter(before, "headrace_deliveries_planned")
    return {
        "events/s sent": round(len(sent) / plan.seconds),
        "accepted": len(accepted) * plan.batch,
        "planned": round(batches),
        "delivered": len(measured),
        "missing": len(sent) - len(measured),
        "repeated": repeated,
        "POST to 202 ms": quantiles(accepted),
        "POST to sink ms": quantiles(list(measured.values())),
        **_shares(before, after),
        "service CPU %": round(100 * cpu_used / drained),
        "idle CPU %": round(idle, 1),
    }


def _shares(before: str, after: str) -> dict[str, float | None]:
    """Return what an event costs in the route: matching itself, and what Spark and the outbox add to it."""
    routed, matched = (
        counter(after, name) - counter(before, name)
        for name in ("headrace_events_routed", "headrace_match_events")
    )
    batches, matching = (
        observed(after, name) - observed(before, name)
        for name in ("headrace_batch_seconds", "headrace_match_seconds")
    )
    if not routed or not matched:
        return {"route µs/event": None, "of it matching": None, "of it Spark": None}
    route, engine = 1e6 * batches / routed, 1e6 * matching / matched
    return {
        "route µs/event": round(route, 1),
        "of it matching": round(engine, 1),
        "of it Spark": round(route - engine, 1),
    }


async def _send(
    plan: PipelinePlan, service: ServiceProcess, name: str, seconds: float, arrivals: dict[str, float]
) -> tuple[dict[str, float], list[float], float]:
    """Send at the rate and wait for the deliveries; return when each event was due, 202 latencies, time taken."""
    count = int(plan.rate * seconds) // plan.batch * plan.batch
    events = bench_events(count, name, plan.subscriptions)
    groups = [events[start : start + plan.batch] for start in range(0, count, plan.batch)]
    messages = [encode_binary(group[0]) if plan.batch == 1 else encode_batch(group) for group in groups]
    requests = [encode_request(message, "127.0.0.1") for message in messages]
    sent: dict[str, float] = {}

    def on_sent(number: int, planned: float) -> None:
        sent.update((event.id, planned) for event in groups[number])

    began = time.monotonic()
    accepted = await pace("127.0.0.1", service.port, plan.rate / plan.batch, requests, on_sent)
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    while any(id_ not in arrivals for id_ in sent) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return sent, accepted, time.monotonic() - began


async def _idle(service: ServiceProcess, seconds: float) -> float:
    """Return the percentage of one core that the service uses when nothing happens."""
    before = cpu_seconds(service.pid)
    await asyncio.sleep(seconds)
    return 100 * (cpu_seconds(service.pid) - before) / seconds
