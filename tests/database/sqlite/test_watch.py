"""A database that is damaged, removed or replaced is never taken for an empty or a whole one."""

import os
import shutil
import sqlite3
import threading

import pytest
from tests.database.conftest import Library

from headrace.database.sqlite.integrity import damage_of
from headrace.database.sqlite.locations import companion
from headrace.database.sqlite.record import read_database, read_record, record_path
from headrace.database.sqlite.seal import seal
from headrace.database.sqlite.watch import examine_all, look_at_all, remember
from headrace.errors import DatabaseDamaged
from headrace.telemetry.health import HEALTH, Status


def copy_of(path, name):
    target = path.with_name(name)
    with sqlite3.connect(path) as source, sqlite3.connect(target) as copy:
        source.backup(copy)
    source.close()
    copy.close()
    return target


def refused(call, words):
    with pytest.raises(DatabaseDamaged, match=words) as caught:
        call()
    told = str(caught.value)
    assert caught.value.code == "database-damaged"
    assert "subscriptions" in told
    assert "headrace restore --from FOLDER --only store" in told
    assert "headrace restore --rebuild store" in told
    return told


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_removed_or_replaced_in_use_is_never_written_into(library, suffix, replaced):
    opened = library()
    opened.put(1)
    file, kept = companion(opened.path, suffix), opened.path.with_name("kept")
    shutil.copy(file, kept)
    file.unlink()
    if replaced:
        kept.rename(file)
    refused(lambda: opened.put(2), "replaced" if replaced else "removed")
    refused(opened.read, "while it was in use")
    report = HEALTH.reports()["database store"]
    assert (report.status, str(opened.path) in report.note) == (Status.BLOCKED, True)
    assert str(look_at_all()) == report.note


def test_it_stays_refused_when_the_file_is_put_back(library):
    opened = library()
    aside = opened.path.rename(opened.path.with_name("aside"))
    refused(opened.read, "removed")
    aside.rename(opened.path)
    refused(opened.read, "removed")


def test_an_older_copy_that_is_written_over_it_is_noticed_and_remembered(library):
    opened = library()
    opened.put(1)
    older = copy_of(opened.path, "older").read_bytes()
    assert look_at_all() is None
    opened.put(*range(2, 50))
    with opened.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint")
    assert look_at_all() is None
    with opened.path.open("rb+") as file:
        file.write(older)
    assert "overwritten" in str(look_at_all())
    refused(lambda: opened.put(50), "overwritten")
    opened.close()
    assert "suspect" in record_path(opened.path).read_text()
    refused(library, "overwritten")


def test_an_older_copy_in_its_place_is_refused_by_the_next_start_too(library):
    """The write-ahead log of the newest stays, and with it the older copy would look like the newest."""
    opened = library()
    opened.put(1)
    older = copy_of(opened.path, "older")
    opened.put(*range(2, 50))
    older.rename(opened.path)
    refused(opened.read, "replaced while it was in use")
    opened.close()
    assert companion(opened.path, "-wal").exists()
    refused(library, "overwritten or replaced")


def test_an_older_copy_that_is_written_over_it_just_before_the_end_is_noticed_too(library):
    """Nobody looks any more, and what the write-ahead log adds to the older file would make it look like the newest."""
    opened = library()
    opened.put(1)
    older = copy_of(opened.path, "older").read_bytes()
    opened.put(*range(2, 50))
    opened.close()
    opened = library()
    opened.put(50)
    with opened.path.open("rb+") as file:
        file.write(older)
    opened.close()
    seal(opened.path)
    refused(library, "overwritten")


def test_an_error_that_speaks_of_damage_is_looked_into(library):
    opened = library()
    opened.put(*range(200))
    with opened.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    opened.close()
    opened = Library(opened.path)
    size = opened.path.stat().st_size
    with opened.path.open("rb+") as file:
        file.write(os.urandom(size))
    refused(library, "not a database|malformed")
    refused(opened.read, "not a database|malformed|overwritten")
    opened.close()


def test_an_emptied_database_has_no_missing_tables_but_is_damaged(library):
    opened = library()
    opened.put(1)
    opened.close()
    os.truncate(opened.path, 0)
    refused(library, "is empty, and a database was there before")
    opened.path.unlink()
    refused(library, "is missing, and a database was there before")


def test_a_table_that_is_gone_from_a_whole_file_is_no_damage(library):
    opened = library()
    with opened.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE books")
    with pytest.raises(Exception, match="no such table") as caught, opened.engine.connect() as connection:
        connection.exec_driver_sql("SELECT * FROM books")
    assert not isinstance(caught.value, DatabaseDamaged)
    assert examine_all() is None


def test_an_older_copy_is_refused_with_the_number_of_commits_it_lacks(library):
    opened = library()
    opened.put(1)
    older = copy_of(opened.path, "older")
    opened.put(2, 3)
    opened.close()
    older.replace(opened.path)
    told = refused(library, "the last 2 commits are missing")
    assert "headrace restore --accept store" in told


def test_a_lost_write_ahead_log_is_an_older_copy(library):
    """As after a power cut, or a kill, by which nothing was taken over from it."""
    opened = library()
    opened.put(1, 2, 3)
    left = opened.path.with_name("left.db")
    shutil.copy(opened.path, left)
    shutil.copy(record_path(opened.path), record_path(left))
    refused(lambda: library(left), "older|another")


def test_another_database_is_refused(library, tmp_path):
    opened, other = library(), library(tmp_path / "other.db")
    opened.put(1)
    other.put(*range(20))
    opened.close()
    other.close()
    other.path.replace(opened.path)
    refused(library, "another database")


def test_connections_of_many_threads_and_the_last_close_are_no_damage(library, tmp_path):
    """The write-ahead log is removed by whoever closes last, and made anew: that must not look like a fault."""
    path = tmp_path / "busy.db"
    library(path).close()
    faults = []

    def work(offset):
        try:
            for round_ in range(10):
                own = Library(path)
                own.put(offset + round_)
                own.read()
                own.close()
        except Exception as error:  # noqa: BLE001  it is told below
            faults.append(error)

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(library(path).read()) == 40


def test_what_is_damaged_beside_the_database_is_forgiven(library):
    opened = library()
    opened.put(1)
    opened.close()
    record_path(opened.path).write_bytes(b"\0" * 1000)
    again = library()
    assert again.read() == [1]
    assert read_record(opened.path) is not None


def test_every_flipped_bit_is_seen_in_a_file_that_was_closed_well(library):
    """In a row's text, too, where SQLite itself sees nothing."""
    opened = library()
    opened.put(*range(50))
    opened.close()
    seal(opened.path)
    again = library()
    assert len(again.read()) == 50, "as it was left"
    again.close()
    whole = opened.path.read_bytes()
    place = whole.index(b"hall")
    opened.path.write_bytes(whole[:place] + b"hell" + whole[place + 4 :])
    assert damage_of(opened.path) is None
    told = refused(library, "was changed after the service had stopped")
    assert "headrace restore --accept store" in told


def test_a_commit_ends_what_is_known_of_the_closed_file(library):
    opened = library()
    opened.close()
    seal(opened.path)
    command = library()
    command.put(1)
    command.close()
    assert library().read() == [1]


def test_a_file_in_use_is_not_sealed(library):
    opened = library()
    before = read_record(opened.path)
    seal(opened.path)
    assert read_record(opened.path) == before


@pytest.mark.parametrize("emptied", [False, True])
def test_nobody_makes_a_new_database_in_the_place_of_one_that_was_removed(library, emptied):
    """Neither another connection of this process nor another part of it."""
    opened = library()
    opened.put(1)
    known = read_record(opened.path)
    aside = opened.path.rename(opened.path.with_name("aside"))
    if emptied:
        opened.path.touch()
    refused(library, "replaced" if emptied else "removed")
    opened.engine.pool.dispose()
    refused(opened.read, "while it was in use")
    assert not opened.path.exists() or opened.path.stat().st_size == 0
    assert read_record(opened.path) == known
    opened.close()
    refused(library, "a database was there before")
    aside.replace(opened.path)
    assert library().read() == [1]


def test_a_new_connection_finds_out_first(library):
    opened = library()
    with opened.engine.connect():
        aside = opened.path.rename(opened.path.with_name("aside"))
        refused(opened.read, "removed")
        assert not opened.path.exists()
    aside.rename(opened.path)


def test_what_is_remembered_of_one_database_is_not_replaced_by_another(library, tmp_path):
    opened, other = library(), library(tmp_path / "other.db")
    opened.put(1)
    other.put(1)
    known = read_record(opened.path)
    remember(opened.path, read_database(other.path))
    assert read_record(opened.path) == known
