import asyncio
import threading

import pytest

from headrace.database.database import Database
from headrace.delivery.settlement import journal as journal_module
from headrace.delivery.settlement.journal import Journal
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import GivenUp, Key, Ledger, Wait


class Desk:
    """A journal over a real ledger; commits wait while `gate` is closed."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.settled = LogPosition()
        self.gate = threading.Event()
        self.gate.set()
        self.journal = Journal(ledger, lambda: self.settled, self._in_thread)
        self.done: list[str] = []

    async def _in_thread(self, call, *arguments):
        def gated():
            self.gate.wait()
            call(*arguments)

        await asyncio.to_thread(gated)

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
    desk.journal.wait(Wait(Key("a", 1), 1, 9.0, "why"), lambda: setattr(desk, "settled", LogPosition.at(8)))
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


async def test_room_ends_when_too_much_is_collected_and_comes_back_with_a_flush(desk, monkeypatch):
    monkeypatch.setattr(journal_module, "_MAX_COLLECTED", 3)
    desk.wait(1, "1")
    desk.wait(2, "2")
    await asyncio.wait_for(desk.journal.room(), 1)
    desk.wait(3, "3")
    waiting = asyncio.create_task(desk.journal.room())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await desk.journal.flush()
    await asyncio.wait_for(waiting, 1)
