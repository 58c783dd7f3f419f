import sqlite3
from contextlib import closing

import pytest

from headrace.database.sqlite.copies import copy_database, put_aside
from headrace.database.sqlite.integrity import damage_of
from headrace.database.sqlite.salvage import Salvaged, read_column, salvage

SCHEMA = """
CREATE TABLE words (word TEXT PRIMARY KEY, size INTEGER NOT NULL);
CREATE TABLE pairs (a TEXT, b INTEGER, more TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE uses (word TEXT PRIMARY KEY REFERENCES words (word));
"""
ROWS = 3000


def make(path, *, rows=ROWS):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        words = [(f"word-{number:06}" + "x" * 80, number) for number in range(rows)]
        connection.executemany("INSERT INTO words VALUES (?, ?)", words)
        connection.executemany("INSERT INTO pairs VALUES (?, ?, 'y')", words)
        connection.executemany("INSERT INTO uses VALUES (?)", [word[:1] for word in words[::10]])
        connection.commit()


def leaves(path, table):
    """The pages that hold the rows of a table."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            rows = connection.execute(
                "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (table,)
            )
            return [number for (number,) in rows]
        except sqlite3.OperationalError:
            pytest.skip("this SQLite doesn't tell which page is whose")


def damage(path, pages):
    with path.open("rb+") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(b"\xa5" * 4096)


def test_a_whole_database_is_salvaged_in_full(tmp_path):
    make(tmp_path / "old.db")
    make(tmp_path / "new.db", rows=0)
    found = salvage(tmp_path / "old.db", tmp_path / "new.db", ["words", "pairs", "uses"])
    assert found == [
        Salvaged("words", ROWS, complete=True),
        Salvaged("pairs", ROWS, complete=True),
        Salvaged("uses", ROWS // 10, complete=True),
    ]


def test_rows_around_several_damaged_pages_are_kept(tmp_path):
    make(tmp_path / "old.db")
    make(tmp_path / "new.db", rows=0)
    pages = leaves(tmp_path / "old.db", "words")
    damage(tmp_path / "old.db", pages[5 : len(pages) - 5 : 12])
    assert damage_of(tmp_path / "old.db") is not None
    words, pairs, uses = salvage(tmp_path / "old.db", tmp_path / "new.db", ["words", "pairs", "uses"])
    assert not words.complete
    assert ROWS * 0.85 < words.kept < ROWS
    assert pairs == Salvaged("pairs", ROWS, complete=True)
    assert not uses.complete, "those that refer to a lost row went with it"
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        kept = {word for (word,) in connection.execute("SELECT word FROM words")}
    assert len(kept) == words.kept
    all_words = read_column(tmp_path / "old.db", "SELECT word FROM words")
    assert kept < all_words
    assert len(all_words) == ROWS, "an index still knows the keys of rows that are lost"


def test_a_table_in_order_of_its_key_is_read_from_both_ends(tmp_path):
    make(tmp_path / "old.db")
    make(tmp_path / "new.db", rows=0)
    pages = leaves(tmp_path / "old.db", "pairs")
    damage(tmp_path / "old.db", [pages[len(pages) // 3]])
    [pairs] = salvage(tmp_path / "old.db", tmp_path / "new.db", ["pairs"])
    assert not pairs.complete
    assert ROWS * 0.9 < pairs.kept < ROWS


@pytest.mark.parametrize("content", [None, b"", b"nonsense" * 5000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_where_nothing_can_be_read_nothing_is_kept(tmp_path, content):
    make(tmp_path / "new.db", rows=0)
    if content is not None:
        (tmp_path / "old.db").write_bytes(content)
    assert salvage(tmp_path / "old.db", tmp_path / "new.db", ["words"]) == [
        Salvaged("words", 0, complete=False)
    ]
    assert read_column(tmp_path / "old.db", "SELECT word FROM words") == set()


def test_rows_that_do_not_fit_are_left_out(tmp_path):
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.execute("CREATE TABLE words (word TEXT PRIMARY KEY, size INTEGER)")
        connection.execute("INSERT INTO words VALUES ('a', 1), ('b', NULL), ('c', 3)")
        connection.commit()
    make(tmp_path / "new.db", rows=0)
    assert salvage(tmp_path / "old.db", tmp_path / "new.db", ["words"]) == [
        Salvaged("words", 2, complete=False)
    ]


def test_a_copy_is_whole_while_the_database_is_written(library, tmp_path):
    opened = library()
    opened.put(1, 2)
    copy_database(opened.path, tmp_path / "copy.db")
    opened.put(3)
    assert [path.name for path in tmp_path.glob("copy.db*")] == ["copy.db"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(tmp_path / "copy.db")) as connection:
        assert connection.execute("SELECT count(*) FROM shelves").fetchone() == (2,)


def test_what_is_put_aside_is_kept_with_all_that_belongs_to_it(library):
    opened = library()
    opened.put(1)
    opened.close()
    kept = put_aside(opened.path)
    assert kept is not None
    assert library(kept).read() == [1]
    assert not opened.path.exists()
    assert put_aside(opened.path) is None
