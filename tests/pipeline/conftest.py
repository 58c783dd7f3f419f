"""A log, an outbox and a store on a temporary folder."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, update

from headrace.database.database import Database
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import Subscription, parse_subscription
from headrace.subscriptions.tables import SUBSCRIPTIONS


class Deployment:
    """The parts around the pipeline, without any process."""

    def __init__(self, folder: Path, store_url: str | None = None) -> None:
        self.folder = folder
        self.store_url = store_url or f"sqlite:///{folder}/store.db"
        self.store = Store(Database(self.store_url))
        self.writer = SegmentWriter(folder / "log", 1 << 20)
        self.log = SegmentReader(folder / "log")
        self.outbox = LocalOutboxWriter(folder / "outbox")

    def close(self) -> None:
        self.writer.close()
        self.outbox.close()
        self.store.database.close()

    def append(self, *types: str, channel: tuple[str, str] = DEFAULT_CHANNEL) -> int:
        """Append one event of each type, as one commit."""
        events = [
            Event({"specversion": "1.0", "id": f"{self.writer.end + n}", "source": "/s", "type": type_})
            for n, type_ in enumerate(types)
        ]
        return self.writer.append([Arrival(event, *channel) for event in events])

    def append_data(self, *data: object) -> int:
        """Append one event with each of these as its JSON data, as one commit."""
        events = [
            Event(
                {"specversion": "1.0", "id": f"{n}", "source": "/s", "type": "t"}, json.dumps(each).encode()
            )
            for n, each in enumerate(data)
        ]
        return self.writer.append([Arrival(event, *DEFAULT_CHANNEL) for event in events])

    def subscribe(self, *filters: object, channel: str = "default/default") -> Subscription:
        document = {
            "sink": "http://sink/",
            "protocol": "HTTP",
            "filters": list(filters),
            "config": {"channel": channel},
        }
        return self.store.create(parse_subscription(document), lambda: LogPosition.at(self.writer.end))

    def subscribe_unchecked(self, *filters: object) -> Subscription:
        """Store filters that the API would refuse, as another version may have accepted them."""
        wish = parse_subscription({"sink": "http://sink/", "protocol": "HTTP"})
        return self.store.create(replace(wish, filters=filters), lambda: LogPosition.at(self.writer.end))

    def pairs(self) -> list[tuple[int, str]]:
        """All planned deliveries, from the files."""
        return [
            (position, subscription)
            for _, table in LocalOutboxReader(self.folder / "outbox").read(LogPosition())
            for position, subscription in zip(
                table["position"].to_pylist(), table["subscription"].to_pylist(), strict=True
            )
        ]


def spoil_filters(deployment: Deployment, subscription_id: str, filters: list[object]) -> None:
    """Make the store hold filters that it would not have accepted, as another version may have written them."""
    document = {"sink": "http://sink/", "protocol": "HTTP", "config": {}, "protocolsettings": {}}
    spoil_document(deployment, subscription_id, json.dumps(document | {"filters": filters}))


def spoil_document(deployment: Deployment, subscription_id: str, document: str) -> None:
    engine = create_engine(deployment.store_url)
    with engine.begin() as connection:
        connection.execute(
            update(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.id == subscription_id).values(document=document)
        )
    engine.dispose()


@pytest.fixture
def deployment(tmp_path):
    made = Deployment(tmp_path)
    yield made
    made.close()
