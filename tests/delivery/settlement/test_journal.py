import asyncio
import threading

import pytest

from headrace.database.database import Database
from headrace.delivery.intake.progress import DeliveryProgress
from headrace.delivery.ledger_thread import LedgerThread
from headrace.delivery.settlement import journal as journal_module
from headrace.delivery.settlement.journal import Journal
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import GivenUp, Key, Ledger, Wait


class Desk(LedgerThread):
    """A journal over a real ledger; commits wait while `gate` is closed."""

    def __init__(self, ledger):
        super().__init__(ledger)
        self.gate = threading.Event()
        self.gate.set()
        self.progress = DeliveryProgress(LogPosition())
        self.journal = Journal(self, self.progress)
        self.done: list[str] = []

    async def run(self, call, *arguments):
        def gated():
            self.gate.wait()
            return call(*arguments)

        return await super().run(gated)

    def wait(self, position, name):
        self.journal.wait(Wait(Key("a", position), 1, 9.0, "why"), lambda: self.done.append(name))

    def bury(self, position, name):
        self.journal.bury(GivenUp(Key("a", position), 1, 9.0, "why", b"{}"), lambda: self.done.append(name))

    def finish(self, position, name):
        self.journal.finish(Key("a", position), lambda: self.done.append(name))


@pytest.fixture
async def desk(database_url):
    ledger = Ledger(Database(database_url))
    desk = Desk(ledger)
    yield desk
    desk.gate.set()
    desk.close()
    ledger.database.close()


async def test_a_flush_commits_everything_and_then_calls_back(desk):
    desk.wait(1, "waits")
    desk.bury(2, "buried")
    assert (desk.done, desk.ledger.count()) == ([], (0, 0))
    await desk.journal.flush()
    assert (desk.done, desk.ledger.count()) == (["waits", "buried"], (1, 1))
    desk.finish(1, "finished")
    await desk.journal.flush()
    assert (desk.done[2:], desk.ledger.count()) == (["finished"], (0, 1))


async def test_the_cursor_is_committed_as_it_was_before_the_callbacks(desk):
    """What a callback settles may only be passed once the commit before it is durable."""
    desk.journal.wait(Wait(Key("a", 1), 1, 9.0, "why"), lambda: desk.progress.log.read_to(LogPosition.at(8)))
    await desk.journal.flush()
    assert desk.ledger.cursor() == LogPosition.at(0)
    await desk.journal.flush()
    assert desk.ledger.cursor() == LogPosition.at(8)


async def test_nobody_is_called_back_while_the_commit_is_under_way(desk):
    desk.gate.clear()
    desk.wait(1, "first")
    flushing = asyncio.create_task(desk.journal.flush())
    await asyncio.sleep(0)
    desk.wait(2, "second")
    await asyncio.sleep(0)
    assert desk.done == []
    desk.gate.set()
    await flushing
    assert desk.done == ["first"]
    await desk.journal.flush()
    assert desk.done == ["first", "second"]


async def test_a_failed_commit_calls_nobody_back(desk, monkeypatch):
    def fail(_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(desk.ledger, "commit", fail)
    desk.wait(1, "first")
    with pytest.raises(OSError, match="gone"):
        await desk.journal.flush()
    assert desk.done == []


async def test_a_flush_of_nothing_does_not_touch_the_ledger(desk, monkeypatch):
    monkeypatch.setattr(desk.ledger, "commit", lambda _: pytest.fail("committed nothing"))
    await desk.journal.flush()


async def test_it_is_full_too_while_much_that_was_settled_is_committed(desk, monkeypatch):
    monkeypatch.setattr(journal_module, "_MAX_COLLECTED", 3)
    desk.progress.log.begin(0)
    desk.progress.log.read_to(LogPosition.at(9))
    for position in range(3):
        desk.journal.settle(Key("a", position))
    assert desk.journal.is_full
    desk.gate.clear()
    flushing = asyncio.create_task(desk.journal.flush())
    await asyncio.sleep(0)
    assert desk.journal.is_full
    desk.gate.set()
    await flushing
    assert not desk.journal.is_full


async def test_it_is_full_when_much_is_collected_until_that_is_durable(desk, monkeypatch):
    monkeypatch.setattr(journal_module, "_MAX_COLLECTED", 3)
    desk.wait(1, "1")
    desk.wait(2, "2")
    assert not desk.journal.is_full
    desk.wait(3, "3")
    assert desk.journal.is_full
    desk.gate.clear()
    flushing = asyncio.create_task(desk.journal.flush())
    await asyncio.sleep(0)
    assert desk.journal.is_full, "it has only begun to be committed"
    desk.gate.set()
    await flushing
    assert not desk.journal.is_full
