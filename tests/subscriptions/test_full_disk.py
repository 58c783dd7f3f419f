"""The store on a disk that is full: who may wait does so for as long as it takes, and nothing is done twice."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from tests.disks import disk
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal

from headrace.database import patience
from headrace.database.database import Database
from headrace.database.patience import is_out_of_room, outlast_full_disks, patiently
from headrace.errors import StoreUnavailable
from headrace.events.positions import LogPosition
from headrace.subscriptions.store.store import Store
from headrace.telemetry.health import HEALTH, Status

__all__ = ["disk"]


@pytest.fixture
def outlasting(monkeypatch):
    """Full disks are outlasted until something is put into the list."""
    stopping: list[bool] = []
    monkeypatch.setattr(patience, "_TELL_AFTER", 0.0)
    outlast_full_disks(lambda: bool(stopping))
    yield stopping
    stopping.append(True)
    HEALTH.forget("database")


def large():
    return proposal(filters=[{"cel": f'ce.subject == "{"x" * 3_000}"'}])


def create_many(store):
    for _ in range(1_000):
        store.create(large(), lambda: LogPosition.at(1))


def fill_store(store):
    """Change something until there is no room even for that."""
    with pytest.raises(StoreUnavailable, match="full") as caught:
        create_many(store)
    assert not caught.value.unknown, "a commit that found no room was not made"


@contextmanager
def waiting_thread(stopping):
    """A thread whose calls outlast full disks; none waits beyond the test, however that ends."""
    with ThreadPoolExecutor(1) as thread:
        stopping.clear()
        try:
            yield thread
        finally:
            stopping.append(True)


def wait_for(holds):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_told():
    report = HEALTH.reports().get("database")
    return report is not None and report.status is Status.BLOCKED and "free some space" in report.note


def test_a_call_outlasts_the_full_disk_and_is_made_once(disk, outlasting):
    with opening(Store, f"sqlite:///{disk.folder}/store.db", patience=0.2) as store:
        disk.fill()
        outlasting.append(True)
        fill_store(store)
        before = {each.id for each in listed(store)}
        proposed = large()
        with waiting_thread(outlasting) as thread:
            creating = thread.submit(store.create, proposed, lambda: LogPosition.at(1))
            wait_for(is_told)
            assert not creating.done()
            disk.free()
            assert creating.result(20).id == proposed.id
        assert {each.id for each in listed(store)} == before | {proposed.id}
        assert "database" not in HEALTH.reports()


def test_who_is_to_stop_waits_no_longer(disk, outlasting):
    with opening(Store, f"sqlite:///{disk.folder}/store.db", patience=0.2) as store:
        disk.fill()
        outlasting.append(True)
        fill_store(store)
        with waiting_thread(outlasting) as thread:
            creating = thread.submit(store.create, large(), lambda: LogPosition.at(1))
            wait_for(is_told)
            outlasting.append(True)
            with pytest.raises(StoreUnavailable):
                creating.result(20)
        assert "database" not in HEALTH.reports()


def test_a_database_is_opened_when_there_is_room(disk, outlasting):
    disk.fill()
    with (
        waiting_thread(outlasting) as thread,
        Database(f"sqlite:///{disk.folder}/store.db", 0.2) as database,
    ):
        starting = thread.submit(Store, database)
        wait_for(is_told)
        disk.free()
        assert listed(starting.result(20)) == []


def error_of(code, words="disk I/O error"):
    cause = sqlite3.OperationalError(words)
    cause.sqlite_errorcode = code
    return OperationalError("INSERT", {}, cause)


def test_what_counts_as_a_full_disk():
    assert is_out_of_room(error_of(sqlite3.SQLITE_FULL, "database or disk is full"))
    assert is_out_of_room(error_of(sqlite3.SQLITE_IOERR_WRITE)), "so SQLite says of a quota"
    assert not is_out_of_room(error_of(sqlite3.SQLITE_IOERR_READ))
    assert not is_out_of_room(error_of(sqlite3.SQLITE_BUSY, "database is locked"))


def test_a_lock_is_not_outlasted(tmp_path, outlasting):
    del outlasting

    def locked():
        raise error_of(sqlite3.SQLITE_BUSY, "database is locked")

    with pytest.raises(StoreUnavailable, match="locked"):
        patiently(locked, 0.0)


def test_a_full_disk_of_the_server_counts(postgres):
    raising = text("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '53100' USING MESSAGE = 'could not extend'; END $$")
    with (
        postgres.new_url() as url,
        opening(Store, url) as store,
        store.database.engine.connect() as connection,
    ):
        with pytest.raises(OperationalError, match="DiskFull") as caught:
            connection.execute(raising)
        assert is_out_of_room(caught.value)
