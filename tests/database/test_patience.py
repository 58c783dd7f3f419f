"""The database is lost and found again: what was answered stays true, and what can't be known is said."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import select, update
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal

from headrace.database.database import Database
from headrace.database.engine import connect_to
from headrace.database.patience import patiently
from headrace.errors import ConfigError, StoreUnavailable
from headrace.events.positions import LogPosition
from headrace.secrets.masks import without_password
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.tables import CHANNELS, REVISION


@contextmanager
def down(postgres):
    """The server is gone, without a word to anybody; it comes back at the end."""
    postgres.kill()
    try:
        yield
    finally:
        postgres.start()


@pytest.fixture
def url(postgres):
    with postgres.new_url() as address:
        yield address


def test_a_restart_between_two_calls_is_not_noticed(postgres, url):
    with opening(Store, url) as store:
        created = store.create(proposal(), lambda: LogPosition.at(3))
        with down(postgres):
            pass
        assert store.get(created.id) == created
        assert store.create(proposal(), lambda: LogPosition.at(4)).created == LogPosition.at(4)


def test_reading_waits_for_the_server_and_gives_up_with_a_word(postgres, url):
    with (
        opening(Store, url, patience=0.2) as store,
        opening(Store, url, patience=30.0) as patient,
        ThreadPoolExecutor(1) as thread,
    ):
        with down(postgres):
            waiting = thread.submit(patient.channels)
            with pytest.raises(StoreUnavailable, match="nothing was changed, try again in 2 s") as caught:
                store.channels()
            assert not caught.value.unknown
            assert not waiting.done()
        assert [str(each) for each in waiting.result(30)] == ["default/default"]


def test_who_starts_before_the_server_waits_for_it(postgres, url):
    with ThreadPoolExecutor(1) as thread:
        with down(postgres):
            starting = thread.submit(lambda: Store(Database(url, 30.0)))
            time.sleep(0.1)
            assert not starting.done()
        store = starting.result(30)
        assert listed(store) == []
        store.database.close()


def test_a_commit_that_is_lost_is_not_repeated_where_that_would_be_wrong(postgres, url, monkeypatch):
    with opening(Store, url, patience=30.0) as store:
        commit = store.database.engine.dialect.do_commit

        def lose(connection):
            commit(connection)
            monkeypatch.undo()
            postgres.kill()
            postgres.start()
            connection.execute("SELECT 1")  # the answer to the commit never came

        monkeypatch.setattr(store.database.engine.dialect, "do_commit", lose)
        lost = proposal()
        with pytest.raises(StoreUnavailable, match="look before you repeat it") as caught:
            store.create(lost, lambda: LogPosition.at(7))
        assert caught.value.unknown
        store.settle(lambda: LogPosition.at(9))  # as the pipeline does
        assert store.get(lost.id).created == LogPosition.at(9)


def test_a_position_that_is_lost_is_set_again(postgres, url):
    """The row is there, the server goes before its position is: the call gets through all the same, once."""
    with opening(Store, url, patience=30.0) as store:

        def end_of_log():
            postgres.kill()
            threading.Timer(0.2, postgres.start).start()
            return LogPosition.at(5)

        created = store.create(proposal(), end_of_log)
        assert created.created == LogPosition.at(5)
        assert listed(store) == [created]


def test_of_two_who_lock_each_other_both_get_through(url):
    """Each holds what the other wants; the server ends one of them, and that one begins again."""
    met, tries = threading.Barrier(2, timeout=10), []

    def change_both(store, order):
        def change():
            tries.append(order)
            with store.database.engine.begin() as connection:
                for number in order:
                    name = ChannelName("team", f"c{number}")
                    connection.execute(
                        update(CHANNELS).where(CHANNELS.c.name == name.name).values(name=name.name)
                    )
                    if number == order[0] and len(tries) <= 2:
                        met.wait()

        patiently(change, 30.0)

    with opening(Store, url) as store, ThreadPoolExecutor(2) as threads:
        for number in (1, 2):
            store.create_channel(ChannelName("team", f"c{number}"))
        list(threads.map(change_both, [store, store], [(1, 2), (2, 1)]))
    assert len(tries) == 3


@pytest.mark.timeout(120)
def test_the_server_is_killed_under_writers_again_and_again(postgres, url):
    """What was answered is there; what was refused as not done isn't; revisions stay in order for who follows."""
    made: list[str] = []
    refused: list[str] = []
    unknown: list[str] = []
    stop, written = threading.Event(), threading.Event()

    def write(store):
        while not stop.is_set():
            proposed = proposal()
            try:
                store.create(proposed, lambda: LogPosition.at(1))
            except StoreUnavailable as error:
                (unknown if error.unknown else refused).append(proposed.id)
            else:
                made.append(proposed.id)

    def follow(store):
        reached, seen = 0, []
        while not written.is_set():
            reached, changed = store.changes(reached)
            seen += [each.id for each in changed]
        return [*seen, *(each.id for each in store.changes(reached)[1])]

    with (
        opening(Store, url, patience=0.05) as hasty,
        opening(Store, url, patience=30.0) as patient,
        opening(Store, url, patience=30.0) as following,
        ThreadPoolExecutor(4) as threads,
    ):
        writers = [threads.submit(write, store) for store in (hasty, patient, patient)]
        follower = threads.submit(follow, following)
        for _ in range(3):
            before = len(made)
            deadline = time.monotonic() + 20
            while len(made) < before + 20:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            with down(postgres):
                time.sleep(0.2)
        before = len(made)
        while len(made) < before + 20:
            time.sleep(0.01)
        stop.set()
        for writer in writers:
            writer.result(60)
        written.set()
        seen = follower.result(60)
        there = {each.id for each in listed(patient)}
    assert set(made) <= there
    assert not set(refused) & there
    assert there <= set(made) | set(unknown)
    assert set(made) <= set(seen), "a follower went past a change"


def test_addresses():
    assert (
        without_password("postgresql+psycopg://me:secret@host/name")
        == "postgresql+psycopg://me:***@host/name"
    )
    for url, words in (("nonsense", "sqlite:///path"), ("mysql://host/name", "can't be used")):
        with pytest.raises(ConfigError, match=words):
            connect_to(url)


def test_the_level_of_isolation_does_not_depend_on_the_server(url):
    """One who waits for the row of revisions reads it as it then is, even where the server's default is stricter."""
    strict = url.replace("search_path", "default_transaction_isolation%3Dserializable%20-csearch_path")
    with opening(Store, strict) as store, opening(Store, strict) as other:
        with store.database.engine.connect() as connection:
            assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
        with store.database.engine.begin() as first, ThreadPoolExecutor(1) as thread:
            first.execute(update(REVISION).values(value=REVISION.c.value + 1))
            second = thread.submit(other.create, proposal(), lambda: LogPosition.at(1))
            time.sleep(0.1)
            assert not second.done()
            first.commit()
            second.result(10)
        with store.database.engine.connect() as connection:
            assert connection.execute(select(REVISION.c.value)).scalar() == 3
