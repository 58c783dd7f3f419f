import sqlite3
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import insert, select
from tests.opening import engine_of
from tests.subscriptions.library import LIBRARY, SHELVES


def test_the_folder_and_the_tables_are_made(tmp_path):
    url = f"sqlite:///{tmp_path}/deep/down/store.db"
    engine = engine_of(url, LIBRARY)
    with engine.begin() as connection:
        connection.execute(insert(SHELVES).values(number=7, room="hall"))
    engine.dispose()
    again = engine_of(url, LIBRARY)
    with again.connect() as connection:
        assert connection.execute(select(SHELVES.c.number)).scalars().all() == [7]
    again.dispose()


def test_commits_last_and_readers_do_not_wait(tmp_path):
    engine = engine_of(f"sqlite:///{tmp_path}/store.db", LIBRARY)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
    engine.dispose()


@pytest.mark.parametrize("round_", range(5))
def test_all_may_open_a_new_database_at_once(tmp_path, round_):
    barrier = Barrier(6)

    def open_it(_):
        barrier.wait()
        engine = engine_of(f"sqlite:///{tmp_path}/store.db", LIBRARY)
        engine.dispose()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(open_it, range(6)))
    connection = sqlite3.connect(tmp_path / "store.db")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert tables == {"shelves", "books", "library_version"}
