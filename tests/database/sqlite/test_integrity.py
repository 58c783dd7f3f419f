import sqlite3
import time

import pytest

from headrace.database.sqlite.integrity import damage_of


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "some.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE words (word TEXT PRIMARY KEY)")
    connection.executemany("INSERT INTO words VALUES (?)", [(f"{number:0100}",) for number in range(5000)])
    connection.commit()
    connection.close()
    return path


def test_a_whole_database_has_no_damage(path):
    before = path.read_bytes()
    assert damage_of(path) is None
    assert path.read_bytes() == before


def test_damage_is_found_and_named(path):
    whole = path.read_bytes()
    cases = {
        "missing": None,
        "empty": b"",
        "not a database": b"nonsense" * 4096,
        "malformed": whole[: len(whole) // 2],
    }
    for words, content in cases.items():
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        assert words in str(damage_of(path))
    torn = bytearray(whole)
    torn[8192:12288] = bytes(4096)
    path.write_bytes(torn)
    assert damage_of(path) is not None


def test_a_look_takes_no_longer_than_it_may(path):
    began = time.monotonic()
    assert damage_of(path, 0.0) is None
    assert time.monotonic() - began < 5
