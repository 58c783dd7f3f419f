"""Migrations: every start may find any older version, and other processes that start at the same moment."""

import multiprocessing
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Column, MetaData, Table, Text, insert, inspect, select, text
from sqlalchemy.exc import IntegrityError
from tests.opening import engine_of
from tests.subscriptions.library import BOOKS, LIBRARY, SHELVES

from headrace.database.engine import connect_to
from headrace.database.migrations import differences
from headrace.database.versions import version_of
from headrace.errors import SchemaRefused


@contextmanager
def opened(url, family=LIBRARY):
    engine = engine_of(url, family)
    yield engine
    engine.dispose()


@contextmanager
def connected(url):
    engine = connect_to(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def known_up_to(version, folder):
    """The family as a Headrace has it that knows it up to this version."""
    folder.mkdir()
    for script in LIBRARY.scripts.glob("v*.py"):
        if script.name[1:5] <= version:
            shutil.copy(script, folder)
    return replace(LIBRARY, scripts=folder)


def first_version(url):
    """A database from before versions were kept."""
    with connected(url) as connection:
        connection.execute(text("CREATE TABLE shelves (number INTEGER NOT NULL PRIMARY KEY)"))
        connection.execute(
            text(
                "CREATE TABLE books (title VARCHAR(80) NOT NULL PRIMARY KEY, "
                "shelf INTEGER NOT NULL, FOREIGN KEY(shelf) REFERENCES shelves (number) ON DELETE CASCADE)"
            )
        )
        fill(connection)


def fill(connection):
    connection.execute(text("INSERT INTO shelves (number) VALUES (1), (2)"))
    connection.execute(text("INSERT INTO books VALUES ('Walden', 1), ('Emma', 2)"))


def test_a_new_database_gets_every_version(database_url):
    with opened(database_url) as engine:
        assert version_of(engine, LIBRARY) == "0002"
        with engine.connect() as connection:
            assert differences(connection, LIBRARY, LIBRARY.metadata) == []


def test_rows_are_kept_on_the_way_from_the_first_version(database_url, tmp_path):
    with opened(database_url, known_up_to("0001", tmp_path / "old")) as engine, engine.begin() as connection:
        fill(connection)
    with opened(database_url) as engine, engine.connect() as connection:
        assert sorted(connection.execute(select(SHELVES))) == [(1, "hall"), (2, "hall")]
        assert sorted(connection.execute(select(BOOKS))) == [("Emma", 2), ("Walden", 1)]


def test_references_are_checked_again_afterwards(database_url, tmp_path):
    with opened(database_url) as engine:
        for _ in range(3):  # whichever connection of the pool it was
            with pytest.raises(IntegrityError), engine.begin() as connection:
                connection.execute(insert(BOOKS).values(title="Lost", shelf=9))


def test_a_database_from_before_versions_is_taken_for_the_first(database_url):
    first_version(database_url)
    with opened(database_url) as engine, engine.connect() as connection:
        assert version_of(engine, LIBRARY) == "0002"
        assert sorted(connection.execute(select(BOOKS.c.title)).scalars()) == ["Emma", "Walden"]


def test_what_an_old_process_had_not_made_yet_is_made(database_url):
    with connected(database_url) as connection:
        connection.execute(text("CREATE TABLE shelves (number INTEGER NOT NULL PRIMARY KEY)"))
    with opened(database_url) as engine:
        assert inspect(engine).has_table("books")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("ALTER TABLE shelves ADD COLUMN colour VARCHAR(9)", "column shelves.colour is not known"),
        ("ALTER TABLE books RENAME COLUMN shelf TO place", "column books.shelf is missing"),
    ],
)
def test_other_tables_of_that_name_are_refused_and_left_alone(database_url, statement, told):
    first_version(database_url)
    with connected(database_url) as connection:
        connection.execute(text(statement))
    with pytest.raises(SchemaRefused, match=re.escape(told)) as refused:
        engine_of(database_url, LIBRARY)
    assert refused.value.family == "library"
    assert "new database" in str(refused.value)
    with connected(database_url) as connection:
        assert set(inspect(connection).get_table_names()) == {"shelves", "books"}


def test_a_database_newer_than_the_code_is_refused_and_left_alone(database_url, tmp_path):
    with opened(database_url):
        pass
    with pytest.raises(
        SchemaRefused, match="version 0002, and this Headrace knows them up to 0001"
    ) as refused:
        engine_of(database_url, known_up_to("0001", tmp_path / "old"))
    assert "Run the newer Headrace" in str(refused.value)
    with opened(database_url) as engine, engine.connect() as connection:
        assert connection.execute(select(SHELVES)).all() == []


def test_families_share_a_database_and_know_nothing_of_one_another(database_url, tmp_path):
    (tmp_path / "stars").mkdir()
    (tmp_path / "stars" / "v0001_first.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\n"
        "revision, down_revision = '0001', None\nTABLES = sa.MetaData()\n"
        "sa.Table('stars', TABLES, sa.Column('name', sa.Text, primary_key=True))\n"
        "def upgrade():\n    TABLES.create_all(op.get_bind())\n"
    )
    metadata = MetaData()
    Table("stars", metadata, Column("name", Text, primary_key=True))
    stars = replace(LIBRARY, name="stars", metadata=metadata, scripts=tmp_path / "stars")
    with opened(database_url), opened(database_url, stars) as engine:
        assert (version_of(engine, LIBRARY), version_of(engine, stars)) == ("0002", "0001")
        with engine.connect() as connection:
            assert differences(connection, stars, metadata) == []


def _open(url, barrier):
    barrier.wait(60)
    with opened(url) as engine:
        return version_of(engine, LIBRARY)


def test_processes_that_start_at_once(database_url):
    """Each of them finds the first version, and wants to be the one who migrates."""
    first_version(database_url)
    spawn = multiprocessing.get_context("spawn")
    with spawn.Manager() as manager, spawn.Pool(3) as pool:
        barrier = manager.Barrier(3)
        assert pool.starmap(_open, [(database_url, barrier)] * 3) == ["0002"] * 3
    with opened(database_url) as engine, engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM library_version")).scalars().all() == ["0002"]
        assert len(connection.execute(select(BOOKS)).all()) == 2


def test_a_migration_that_is_killed_has_changed_nothing(database_url, tmp_path):
    first_version(database_url)
    slow, reached = known_up_to("0002", tmp_path / "slow"), tmp_path / "reached"
    (slow.scripts / "v0003_slow.py").write_text(
        "import time, pathlib\nfrom alembic import op\nimport sqlalchemy as sa\n"
        "revision, down_revision = '0003', '0002'\n"
        "def upgrade():\n"
        "    op.create_table('borrowers', sa.Column('name', sa.Text, primary_key=True))\n"
        "    op.execute('DELETE FROM books')\n"
        f"    pathlib.Path({str(reached)!r}).touch()\n"
        "    time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", _OPEN, database_url, str(slow.scripts)])
    deadline = time.monotonic() + 60
    while not reached.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait()
    with connected(database_url) as connection:
        assert set(inspect(connection).get_table_names()) == {"shelves", "books"}
        assert len(connection.execute(text("SELECT * FROM books")).all()) == 2
    with opened(database_url) as engine:
        assert version_of(engine, LIBRARY) == "0002"


_OPEN = """
import sys
from pathlib import Path
from sqlalchemy import MetaData
from headrace.database.database import Database
from headrace.database.families import Family
Database(sys.argv[1]).bring_up(Family("library", MetaData(), Path(sys.argv[2])))
"""


def test_a_migration_that_fails_has_changed_nothing(database_url, tmp_path):
    with opened(database_url):
        pass
    broken = known_up_to("0002", tmp_path / "broken")
    (broken.scripts / "v0003_broken.py").write_text(
        "from alembic import op\nrevision, down_revision = '0003', '0002'\n"
        "def upgrade():\n    op.execute('DROP TABLE books')\n    raise ZeroDivisionError\n"
    )
    with pytest.raises(ZeroDivisionError):
        engine_of(database_url, broken)
    with opened(database_url) as engine:
        assert inspect(engine).has_table("books")


def test_opening_what_is_new_already_loads_no_alembic(tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    with opened(url):
        pass
    look = "assert not [name for name in sys.modules if name.startswith('alembic')]"
    subprocess.run([sys.executable, "-c", _OPEN + look, url, str(LIBRARY.scripts)], check=True)
