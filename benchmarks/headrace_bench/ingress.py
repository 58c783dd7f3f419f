"""`headrace bench ingress`: how many events a second become durable, and how long a 202 takes."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import uvloop

from headrace.client import Client
from headrace.events.bindings.http import encode_batch, encode_binary, encode_structured
from headrace.service.processes.service import ServiceProcess, free_port
from headrace_bench.events import bench_events
from headrace_bench.figures import counter, cpu_seconds, quantiles
from headrace_bench.load import encode_request, saturate

_DIFFERENT_EVENTS = 2000
_WARM_UP_SECONDS = 1.0
# Nothing routes here, so the backlog grows for as long as the measurement takes.
_SETTINGS = {"ROLES": '["http"]', "API_MAX_BACKLOG_EVENTS": "1000000000"}


@dataclass(frozen=True, slots=True)
class IngressPlan:
    """What to measure."""

    seconds: float
    connections: int
    batch: int


def run(plan: IngressPlan) -> list[dict[str, Any]]:
    """Measure single binary, single structured and batched requests, one after the other."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        return uvloop.run(_run(plan, Path(folder)))


async def _run(plan: IngressPlan, folder: Path) -> list[dict[str, Any]]:
    service = ServiceProcess(folder / "data", free_port(), folder / "service.log", _SETTINGS)
    events = bench_events(_DIFFERENT_EVENTS)
    batches = [
        events[start : start + plan.batch] for start in range(0, len(events) - plan.batch + 1, plan.batch)
    ]
    modes = {
        "single, binary": (1, [encode_binary(event) for event in events]),
        "single, structured": (1, [encode_structured(event) for event in events]),
        f"batches of {plan.batch}": (plan.batch, [encode_batch(batch) for batch in batches]),
    }
    service.start()
    try:
        await service.wait_until_ready()
        rows = []
        for name, (size, messages) in modes.items():
            requests = [encode_request(message, "127.0.0.1") for message in messages]
            rows.append(await _measure(name, size, requests, service, plan))
        return rows
    finally:
        service.stop()


async def _measure(
    name: str, size: int, requests: list[bytes], service: ServiceProcess, plan: IngressPlan
) -> dict[str, Any]:
    endless = cycle(requests)
    await saturate("127.0.0.1", service.port, plan.connections, _WARM_UP_SECONDS, endless)
    async with Client(service.url) as client:
        before, cpu_before = await client.metrics(), cpu_seconds(service.pid)
        began = asyncio.get_running_loop().time()
        latencies, refused = await saturate(
            "127.0.0.1", service.port, plan.connections, plan.seconds, endless
        )
        seconds = asyncio.get_running_loop().time() - began
        after, cpu_after = await client.metrics(), cpu_seconds(service.pid)

    def per_second(metric: str) -> float:
        return (counter(after, metric) - counter(before, metric)) / seconds

    return {
        "mode": name,
        "events/s": round(per_second("headrace_events_accepted")),
        "requests/s": round(len(latencies) / seconds),
        **{f"{part} ms": value for part, value in quantiles(latencies).items()},
        "MB/s": round(per_second("headrace_log_bytes") / 1e6, 1),
        "syncs/s": round(per_second("headrace_log_syncs")),
        "service CPU %": round(100 * (cpu_after - cpu_before) / seconds),
        "refused": refused,
        "events/request": size,
    }
