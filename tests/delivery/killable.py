"""A dispatcher in a process of its own, with specs that the test chooses: `python -m tests.delivery.killable FILE`."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
from tests.delivery.guards import LOOPBACK
from tests.delivery.harness import WishingStore, delivery_settings
from tests.delivery.replying import ReplyingSender

from headrace.database.database import Database
from headrace.delivery.attempt.specs import default_spec
from headrace.delivery.dispatcher import Dispatcher
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.reader import SegmentReader
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.ledger import Ledger
from headrace.subscriptions.delivery.spec import DeliverySpec


class Order(msgspec.Struct):
    """What the process is to do."""

    folder: str
    url: str
    settings: dict[str, Any]
    specs: dict[str, dict[str, Any]]
    replies: dict[str, str]


async def run(order: Order) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    settings = delivery_settings(**order.settings)
    default = msgspec.to_builtins(default_spec(settings))
    store = WishingStore(Database(order.url, 5.0))
    for subscription, uri in order.replies.items():
        store.wish(subscription, config={"reply": {"uri": uri}})

    def spec_of(subscription):
        return msgspec.convert(default | order.specs.get(subscription.id, {}), DeliverySpec)

    folder = Path(order.folder)
    await Dispatcher(
        LocalOutboxReader(folder / "outbox"),
        SegmentReader(folder / "log"),
        store,
        Ledger(Database(order.url, 5.0)),
        Replays(Jobs(Database(order.url, 5.0))),
        {"HTTP": ReplyingSender(LOOPBACK)},
        settings,
        spec_of=spec_of,
    ).run(stop)


if __name__ == "__main__":
    asyncio.run(run(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Order)))
