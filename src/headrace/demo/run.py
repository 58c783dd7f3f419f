"""The demo itself: start, subscribe, publish, receive, check."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.client import Client, Sink
from headrace.demo.ledger import DemoLedger
from headrace.demo.scenario import SUBSCRIPTIONS, sample_events
from headrace.demo.show import Screen
from headrace.service.processes.service import ServiceProcess, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.events.event import Event

_BATCH = 10
_GIVE_UP_SECONDS = 60.0
# Long enough for an unwanted delivery to arrive.
_SETTLE_SECONDS = 1.0


def run_demo(events: int, rate: float) -> bool:
    """Run the demo in a temporary folder; return whether everything was right."""
    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as folder:
        return asyncio.run(_demo(Path(folder), events, rate))


async def _demo(folder: Path, count: int, rate: float) -> bool:
    screen, ledger = Screen(), DemoLedger()
    service = ServiceProcess(folder / "data", free_port(), folder / "service.log")
    screen.say(f"Starting the service on {service.url}, data in {folder}")
    service.start()
    try:
        with screen.waiting("starting Spark, about ten seconds"):
            await service.wait_until_ready()
        async with Sink(ledger.received) as sink, Client(service.url) as client:
            await _subscribe(client, sink.url, screen)
            seconds = await _publish(client, ledger, count, rate, screen)
    finally:
        service.stop()
    screen.summary(ledger, seconds)
    return _judge(ledger, count, screen)


async def _subscribe(client: Client, sink_url: str, screen: Screen) -> None:
    for subscription in SUBSCRIPTIONS:
        await client.subscribe(
            {
                "sink": f"{sink_url}/{subscription.name}",
                "protocol": "HTTP",
                "filters": list(subscription.filters),
            }
        )
        screen.say(
            f"  subscribed {subscription.name:<16} {' and '.join(map(str, subscription.filters)) or 'to all events'}"
        )


async def _publish(client: Client, ledger: DemoLedger, count: int, rate: float, screen: Screen) -> float:
    """Send all events at the given rate, wait for the deliveries, and return how long the sending took."""
    began = time.monotonic()
    with screen.progress(count) as update:
        async with asyncio.TaskGroup() as posts:
            sent = 0
            for group in _groups(count):
                posts.create_task(_post(client, ledger, group, update))
                sent += len(group)
                await asyncio.sleep(max(began + sent / rate - time.monotonic(), 0))
        took = time.monotonic() - began
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        while ledger.arrived < ledger.wanted and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            update(ledger)
        await asyncio.sleep(_SETTLE_SECONDS)
        update(ledger)
    return took


def _groups(count: int) -> Iterator[list[Event]]:
    """Cut the stream into requests: some events alone, some ten to a batch."""
    events = list(sample_events(count))
    start = 0
    while start < count:
        size = _BATCH if start % 4 == 0 else 1
        yield events[start : start + size]
        start += size


async def _post(
    client: Client, ledger: DemoLedger, group: list[Event], update: Callable[[DemoLedger], None]
) -> None:
    now = time.time()
    for event in group:
        ledger.sending(event, now)
    if len(group) == 1:
        await client.publish(group[0], structured=hash(group[0].id) % 2 == 0)
    else:
        await client.publish_batch(group)
    ledger.accepted += len(group)
    update(ledger)


def _judge(ledger: DemoLedger, count: int, screen: Screen) -> bool:
    accounts = ledger.accounts()
    right = ledger.accepted == count and all(
        account.missing == account.unwanted == account.altered == 0 for account in accounts
    )
    screen.say(
        "All that should arrive did, unaltered, and nothing else."
        if right
        else "SOMETHING IS WRONG, see above."
    )
    return right
