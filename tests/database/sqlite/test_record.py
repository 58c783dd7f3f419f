import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.database.sqlite.record import (
    Record,
    next_count,
    read_database,
    read_record,
    record_path,
    write_record,
)

NUMBERS = st.integers(0, 2**31 - 1)


@given(NUMBERS, NUMBERS, st.booleans(), st.none() | st.integers(0, 2**32 - 1))
def test_a_record_is_read_as_it_was_written(tmp_path_factory, identity, commits, suspect, closed):
    path = tmp_path_factory.mktemp("record") / "store.db"
    write_record(path, Record(1, 2, suspect=True, closed=7))
    write_record(path, Record(identity, commits, suspect, closed))
    assert read_record(path) == Record(identity, commits, suspect, closed)


def test_no_flipped_bit_and_no_cut_of_a_record_is_believed(tmp_path):
    path = tmp_path / "store.db"
    write_record(path, Record(0x1234, 77))
    whole = record_path(path).read_bytes()
    for place in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        record_path(path).write_bytes(flipped)
        assert read_record(path) is None, place
    for length in range(len(whole)):
        record_path(path).write_bytes(whole[:length])
        assert read_record(path) is None


@given(NUMBERS, st.integers(0, 1000))
def test_the_count_may_begin_anew(commits, steps):
    later = commits
    for _ in range(steps):
        later = next_count(later)
    assert Record(1, later).commits_ahead_of(Record(1, commits)) == steps
    assert Record(1, commits).commits_ahead_of(Record(1, later)) == 0


def test_each_commit_is_counted_and_remembered(library):
    opened = library()
    before = read_record(opened.path)
    assert before == read_database(opened.path)
    assert before.identity != 0
    opened.put(1, 2, 3)
    assert (
        read_record(opened.path) == read_database(opened.path) == before._replace(commits=before.commits + 3)
    )
    opened.read()
    assert read_record(opened.path) == before._replace(commits=before.commits + 3), "reading is no commit"


def test_what_is_rolled_back_is_not_counted(library):
    opened = library()
    opened.put(1)
    before = read_record(opened.path)
    with pytest.raises(Exception, match="UNIQUE"):
        opened.put(1)
    assert read_record(opened.path) == read_database(opened.path) == before


def test_a_database_from_before_there_were_records_opens_quietly(library, caplog):
    opened = library()
    opened.put(1)
    opened.close()
    record_path(opened.path).unlink()
    assert library().read() == [1]
    assert read_record(opened.path) == read_database(opened.path)
    assert caplog.text == ""
