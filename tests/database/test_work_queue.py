"""The queue of work by itself, with a table that has all of its columns."""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from sqlalchemy import Column, Float, MetaData, String, Table, Text, select, text

from headrace.database.companion import Companion
from headrace.database.database import Database
from headrace.database.work_queue import OPEN, ListedWorkQueue, State
from headrace.errors import Conflict, NotFound

ERRANDS = Table(
    "errands",
    MetaData(),
    Column("id", String(64), primary_key=True),
    Column("state", String(9), nullable=False),
    Column("asked", Float, nullable=False),
    Column("ended", Float),
    Column("error", Text),
    Column("namespace", String(63)),
    Column("claim", String(36)),
    Column("due", Float),
)


@dataclass(frozen=True)
class Errand:
    asked: float = 0.0
    namespace: str | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    state: State = State.WAITING
    ended: float | None = None
    error: str | None = None


class Errands(ListedWorkQueue[Errand]):
    table = ERRANDS
    noun = "errand"

    def take(self, limit=1):
        free = ERRANDS.c.state.in_(OPEN), ERRANDS.c.claim.is_(None)
        return self._take(limit, [ERRANDS.c.asked], *free, state=State.RUNNING)

    @staticmethod
    def to_row(work):
        return {
            "id": work.id,
            "state": work.state,
            "asked": work.asked,
            "namespace": work.namespace,
            "due": 0.0,
        }

    @staticmethod
    def from_row(row):
        return Errand(row.asked, row.namespace, row.id, State(row.state), row.ended, row.error)


@contextmanager
def opened(url):
    with Database(url) as database:
        ERRANDS.metadata.create_all(database.engine)
        yield Errands(database)
        ERRANDS.metadata.drop_all(database.engine)


@pytest.fixture
def errands(database_url):
    with opened(database_url) as errands:
        yield errands


def row_of(errands, errand):
    with errands.database.reading() as connection:
        return connection.execute(select(ERRANDS).where(ERRANDS.c.id == errand.id)).one()


def ids(rows):
    return [row.id for row in rows]


def test_work_comes_back_as_it_was_written(errands):
    errand = errands.add(Errand(7.0, "shop"))
    assert errands.get(errand.id) == errand
    with pytest.raises(NotFound, match="there is no errand 'x'"):
        errands.get("x")


def test_what_goes_along_is_written_in_the_same_transaction_or_neither_is(errands):
    other, errand = Errand(), Errand()
    errands.add(errand, Companion(lambda connection: errands.put(connection, other)))
    assert errands.get(other.id) == other

    def fail(_):
        raise ZeroDivisionError

    lost = Errand()
    with pytest.raises(ZeroDivisionError):
        errands.add(lost, Companion(fail))
    with pytest.raises(NotFound):
        errands.get(lost.id)


def test_the_newest_are_listed_first_of_some_namespaces_or_of_all(errands):
    one, two, three = (errands.add(Errand(float(n), name)) for n, name in enumerate(("a", "b", None)))
    assert errands.list() == [three, two, one]
    assert errands.list(limit=2) == [three, two]
    assert errands.list(namespaces=["b", "a"]) == [two, one]
    assert errands.list(namespaces=[]) == []
    assert errands.list(namespace="a", state=None) == [one]


def test_no_more_is_taken_than_asked_for_whatever_the_statistics_say(errands):
    """PostgreSQL plans by what it last knew of a table: of one with a single row, it asks anew for each it updates."""
    errands.add(Errand(0.0))
    with errands.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    for number in range(1, 21):
        errands.add(Errand(float(number)))
    assert [len(errands.take(2)) for _ in range(11)] == [*[2] * 10, 1]


def test_the_first_are_taken_first_and_nothing_twice(errands):
    added = [errands.add(Errand(float(n))) for n in (3, 1, 2)]
    assert ids(errands.take()) == [added[1].id]
    assert set(ids(errands.take(9))) == {added[0].id, added[2].id}
    assert errands.take(9) == []
    assert {errands.get(each.id).state for each in added} == {State.RUNNING}


def test_many_takers_never_get_the_same_and_together_get_all(errands):
    added = sorted(errands.add(Errand(float(n % 5))).id for n in range(40))
    begin = threading.Barrier(4)

    def work(_):
        begin.wait()
        taken: list[str] = []
        while len(taken) < 40 and (rows := errands.take(3)):
            taken += ids(rows)
        return taken

    with ThreadPoolExecutor(4) as threads:
        taken = [each for found in threads.map(work, range(4)) for each in found]
    while rows := errands.take(3):  # each of them may have met only what another was just taking
        taken += ids(rows)
    assert sorted(taken) == added


def test_what_another_is_just_taking_is_passed_over_and_not_waited_for(postgres):
    with postgres.new_url() as url, opened(url) as errands:
        first, second = (errands.add(Errand(float(n))) for n in range(2))
        with errands.database.writing() as connection:
            connection.execute(select(ERRANDS).where(ERRANDS.c.id == first.id).with_for_update())
            assert ids(errands.take()) == [second.id]
        assert ids(errands.take()) == [first.id]


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.CANCELLED])
def test_work_ends_once_and_is_free_of_its_taker(errands, state):
    errand, other = errands.add(Errand()), errands.add(Errand(1.0))
    assert ids(errands.take()) == [errand.id]
    before = time.time()
    with errands.database.writing() as connection:
        assert errands.end(connection, state, ERRANDS.c.id == errand.id, error="so") == 1
    row = row_of(errands, errand)
    assert (row.state, row.error, row.claim, row.due) == (state, "so", None, None)
    assert before - 1 < row.ended < time.time() + 1
    with errands.database.writing() as connection:
        assert errands.end(connection, State.DONE, ERRANDS.c.id == errand.id) == 0
    assert row_of(errands, errand) == row
    assert ids(errands.take(9)) == [other.id]


def test_work_is_cancelled_once(errands):
    errand = errands.add(Errand())
    cancelled = errands.cancel(errand.id)
    assert (cancelled.state, cancelled.state.is_end) == (State.CANCELLED, True)
    with pytest.raises(Conflict, match=f"errand {errand.id} is cancelled already"):
        errands.cancel(errand.id)
    with pytest.raises(NotFound):
        errands.cancel("x")
