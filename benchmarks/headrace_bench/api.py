"""`headrace bench api`: the control API with many subscriptions, and how soon a new one is in effect."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import uvloop

from headrace.client import Client
from headrace.events.event import Event
from headrace.service.processes.service import ServiceProcess, free_port
from headrace_bench.figures import quantiles
from headrace_bench.load import saturate
from headrace_bench.quick_sink import QuickSink

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

_START_SECONDS = 600.0
_GIVE_UP_SECONDS = 300.0
_LINES = 500
_READ = 1000
_WARM = 5


@dataclass(frozen=True, slots=True)
class ApiPlan:
    """What to measure. An empty `store_url` is SQLite in the service's own folder."""

    subscriptions: int
    seconds: float
    connections: int
    effects: int
    store_url: str = ""


def run(plan: ApiPlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Start a service of its own and measure."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        return uvloop.run(_run(plan, Path(folder), say))


async def _run(plan: ApiPlan, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    urls = {"STORE_URL": plan.store_url, "DELIVERY_URL": plan.store_url} if plan.store_url else {}
    service = ServiceProcess(folder / "data", free_port(), folder / "service.log", urls)
    say("starting the service")
    service.start()
    try:
        await service.wait_until_ready(_START_SECONDS)
        arrivals = _Arrivals()
        async with QuickSink(arrivals.note) as sink, Client(service.url) as client:
            return await _Bench(plan, service.port, client, sink.url, arrivals, say).measure()
    finally:
        service.stop()


class _Arrivals:
    """When each event came to the sink, by its id."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[float]] = {}

    def expect(self, id_: str) -> asyncio.Future[float]:
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = future
        return future

    def note(self, id_: str, now: float) -> None:
        waiting = self._waiting.pop(id_, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(now)


class _Bench:
    """One service."""

    def __init__(
        self,
        plan: ApiPlan,
        port: int,
        client: Client,
        sink: str,
        arrivals: _Arrivals,
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._port = port
        self._client = client
        self._sink = sink
        self._arrivals = arrivals
        self._say = say
        self._numbers = count()

    async def measure(self) -> dict[str, Any]:
        plan = self._plan
        for _ in range(_WARM):
            await self._effect()
        self._say(f"importing {plan.subscriptions:,} subscriptions")
        began = time.perf_counter()
        await self._client.import_subscriptions(self._lines())
        imported = time.perf_counter() - began
        self._say("waiting until they are in effect")
        settled, _ = await self._effect()
        self._say("exporting them")
        began = time.perf_counter()
        ids = [msgspec.json.decode(line)["id"] async for line in self._client.export_subscriptions()]
        exported = time.perf_counter() - began
        figures: dict[str, Any] = {
            "subscriptions": len(ids),
            "import s": round(imported, 1),
            "first event behind the import s": round(settled, 1),
            "export s": round(exported, 1),
        }
        for name, (status, requests) in self._operations(random.sample(ids, min(_READ, len(ids)))).items():
            self._say(f"measuring: {name}")
            figures |= await self._saturate(name, status, requests)
        self._say("waiting for new subscriptions to be in effect")
        await self._effect()
        return figures | await self._effects()

    async def _lines(self) -> AsyncIterator[bytes]:
        lines: list[bytes] = []
        for number in range(self._plan.subscriptions):
            lines.append(msgspec.json.encode({"sink": f"{self._sink}/", "filters": _filters(number)}))
            if len(lines) == _LINES:
                yield b"\n".join([*lines, b""])
                lines.clear()
        yield b"\n".join(lines)

    def _operations(self, ids: list[str]) -> dict[str, tuple[int, Iterator[bytes]]]:
        """Name what is measured, with the status that is expected and the requests."""
        pages = [
            "/subscriptions?limit=100",
            "/subscriptions?limit=100&channel=default/default&state=active",
        ]
        return {
            "create": (201, (_request("POST", "/subscriptions", self._wish()) for _ in count())),
            "read one": (200, cycle([_request("GET", f"/subscriptions/{each}") for each in ids])),
            "read a page of 100": (200, cycle([_request("GET", page) for page in pages])),
            "update": (
                200,
                (_request("PUT", f"/subscriptions/{each}", self._wish()) for each in cycle(ids)),
            ),
        }

    async def _saturate(self, name: str, status: int, requests: Iterator[bytes]) -> dict[str, Any]:
        plan = self._plan
        latencies, refused = await saturate(
            "127.0.0.1", self._port, plan.connections, plan.seconds, requests, status
        )
        if refused:
            raise RuntimeError(f"{refused} requests to {name} were not answered with {status}")
        return {f"{name}/s": round(len(latencies) / plan.seconds), f"{name} ms": quantiles(latencies)}

    def _wish(self) -> dict[str, Any]:
        type_ = f"com.example.bench.{next(self._numbers)}"
        return {"sink": f"{self._sink}/", "protocol": "HTTP", "filters": [{"exact": {"type": type_}}]}

    async def _effects(self) -> dict[str, Any]:
        """Create, and publish at once what the new one wants; beside it, what an older one wants."""
        new, old = [], []
        for _ in range(self._plan.effects):
            first, again = await self._effect()
            new.append(first)
            old.append(again)
        return {"201 to the first event at the sink ms": quantiles(new), "an event later ms": quantiles(old)}

    async def _effect(self) -> tuple[float, float]:
        """Return the seconds from the 201 to an event at the sink, and from the next event's POST to it."""
        wish = self._wish()
        type_ = wish["filters"][0]["exact"]["type"]
        await self._client.subscribe(wish)
        return await self._publish(type_), await self._publish(type_)

    async def _publish(self, type_: str) -> float:
        id_ = f"{type_}-{next(self._numbers)}"
        arrival, began = self._arrivals.expect(id_), time.time()
        attributes = {"specversion": "1.0", "id": id_, "source": "/bench", "type": type_}
        await self._client.publish(Event(attributes, b"{}"))
        async with asyncio.timeout(_GIVE_UP_SECONDS):
            return await arrival - began


def _request(method: str, path: str, document: Any = None) -> bytes:
    body = b"" if document is None else msgspec.json.encode(document)
    head = f"{method} {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def _filters(number: int) -> list[Any]:
    """A mixture as one finds it: mostly attributes, some expressions, hardly two alike."""
    match number % 10:
        case 0 | 1 | 2 | 3:
            return [{"exact": {"type": f"com.example.order.{number}"}}]
        case 4 | 5:
            return [
                {"prefix": {"type": f"com.example.{number % 997}."}},
                {"exact": {"subject": f"s{number}"}},
            ]
        case 6:
            return [
                {"any": [{"suffix": {"subject": f".{number}"}}, {"exact": {"source": f"/shop/{number}"}}]}
            ]
        case 7 | 8:
            return [{"cel": f'data.amount > {number} && data.customer == "c{number}"'}]
        case _:
            return [{"sql": f"subject = 's{number}' AND type LIKE 'com.example.%'"}]
