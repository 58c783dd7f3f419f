"""Outbox files that are missing or damaged: the dispatcher stops before them, and delivers all of it once they are back."""

import pytest
from tests.delivery.harness import eventually, sample

from headrace.eventlog.local.outbox.files import list_ranges
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, WaitBatch
from headrace.subscriptions.delivery.spec import Ordering
from headrace.telemetry.health import HEALTH


def _flip(path):
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)


SPOILS = {
    "removed": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "flipped": _flip,
}


@pytest.fixture(autouse=True)
def _own_health():
    """What one test reports of the outbox is nothing to the next."""
    yield
    HEALTH.forget("outbox")


@pytest.fixture
def planned(tmp_path, harness, sink):
    """Thirty events in six files, all for one subscription."""
    subscription = harness.subscribe(sink.url)
    for start in range(0, 30, 5):
        harness.send([sample(number) for number in range(start, start + 5)], subscription)
    return subscription


def _route_again(harness, subscription, end=30):
    """Do what the route does when it finds a hole: everything from there on is matched again."""
    harness.outbox.refresh()
    start = harness.outbox.covered()[0]
    harness.plan(range(start, end), [(position, subscription) for position in range(start, end)])


def _files(tmp_path):
    return [span.path for span in list_ranges(tmp_path / "outbox")]


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
async def test_what_a_file_planned_is_delivered_once_it_is_routed_again(
    tmp_path, harness, sink, planned, spoil
):
    spoil(_files(tmp_path)[2])
    async with harness.delivering():
        await eventually(lambda: len(sink.ids) == 10)
        await eventually(lambda: "outbox" in HEALTH.reports())
        assert "position 10" in HEALTH.reports()["outbox"].note
        _route_again(harness, planned)
        await eventually(harness.settled)
        assert "outbox" not in HEALTH.reports()
    assert sorted(map(int, sink.ids)) == list(range(30)), "nothing lost, nothing doubled"


async def test_all_files_at_once_while_it_is_running(tmp_path, harness, sink, planned):
    for path in _files(tmp_path)[1:]:
        path.unlink()
    async with harness.delivering():
        await eventually(lambda: len(sink.ids) == 5)
        _route_again(harness, planned)
        await eventually(harness.settled)
    assert sorted(map(int, sink.ids)) == list(range(30))


async def test_a_ledger_that_is_older_than_what_was_dropped(tmp_path, harness, sink, planned):
    """Files up to 20 are gone in good order, and a copy of the ledger has its cursor at 10."""
    LocalOutboxReader(tmp_path / "outbox").drop(LogPosition.at(20))
    harness.ledger.commit(Changes([], [], [], LogPosition.at(10)))
    async with harness.delivering():
        await eventually(lambda: "outbox" in HEALTH.reports())
        _route_again(harness, planned)
        await eventually(harness.settled)
    assert sorted(map(int, sink.ids)) == list(range(10, 30))


async def test_an_ordered_subscription_waits_for_the_hole_before_what_waits_behind_it(
    tmp_path, harness, sink, monkeypatch
):
    """The ledger has later events of it: they must not go first because the outbox yields nothing at the moment."""
    subscription = harness.subscribe(sink.url, {"ordering": Ordering.ORDERED})
    for start in range(0, 15, 5):
        harness.send([sample(number) for number in range(start, start + 5)], subscription)
    waiting = WaitBatch(subscription, [10, 11], 0.0, "crashed")
    harness.ledger.commit(Changes([], [], [], LogPosition.at(5), batches=[waiting]))
    _files(tmp_path)[1].unlink()
    reads = _count_reads(monkeypatch)
    async with harness.delivering():
        await eventually(lambda: len(reads) > 30)
        assert sink.ids == [], "nothing comes before the hole is filled"
        _route_again(harness, subscription, 15)
        await eventually(harness.settled)
    assert list(map(int, sink.ids)) == list(range(5, 15))


def _count_reads(monkeypatch):
    read, reads = LocalOutboxReader.read, []

    def counted(self, start):
        reads.append(start)
        return read(self, start)

    monkeypatch.setattr(LocalOutboxReader, "read", counted)
    return reads
