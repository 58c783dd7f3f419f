import time

import pytest
from tests.eventlog.arrivals import python

from headrace.errors import LogUnavailable
from headrace.eventlog.local.watermark import Watermark

# Their bytes differ in every place that a torn store could mix up.
BELOW, ABOVE = (1 << 48) - 1, 1 << 48

ALTERNATE = f"""
import sys
from pathlib import Path
from headrace.errors import LogUnavailable
from headrace.eventlog.local.watermark import Watermark
mark = Watermark(Path(sys.argv[1]))
mark.set({BELOW})
print("begun", flush=True)
while True:
    mark.set({BELOW})
    mark.set({ABOVE})
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "MARK"


def test_nothing_was_set(path):
    assert Watermark(path, create=True).get() is None


@pytest.mark.parametrize("value", [0, 1, 255, 256, 2**62])
def test_what_was_set_is_seen_by_others_and_later(path, value):
    mark = Watermark(path, create=True)
    other = Watermark(path)
    mark.set(7)
    mark.set(value)
    assert mark.get() == other.get() == value
    mark.close()
    other.close()
    assert Watermark(path).get() == value
    assert Watermark(path, create=True).get() == value


def test_only_a_writer_creates_it(path):
    with pytest.raises(FileNotFoundError):
        Watermark(path)


def test_a_reader_never_sees_half_a_number_nor_none(path):
    mark = Watermark(path, create=True)
    writer = python(ALTERNATE, path)
    try:
        assert writer.stdout.readline() == "begun\n"
        seen = {mark.get() for _ in range(300_000)}
    finally:
        writer.kill()
        writer.communicate()
    assert seen == {BELOW, ABOVE}


def test_a_writer_killed_while_setting_it_leaves_a_number(path):
    """Killed between the two stores: the new number is there, its complement isn't, and the old one counts."""
    mark = Watermark(path, create=True)
    mark.set(5)
    before = path.read_bytes()
    mark.set(6)
    path.write_bytes(path.read_bytes()[:8] + before[8:])
    assert Watermark(path).get() == 5


@pytest.mark.parametrize("byte", range(16))
def test_a_flipped_bit_never_claims_more(path, byte):
    mark = Watermark(path, create=True)
    mark.set(1_000_000)
    whole = path.read_bytes()
    for bit in range(8):
        path.write_bytes(whole[:byte] + bytes([whole[byte] ^ 1 << bit]) + whole[byte + 1 :])
        found = Watermark(path).get()
        assert found is not None
        assert found <= 1_000_000


def _later(monkeypatch):
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 10)


def test_readers_follow_a_mark_that_was_removed_and_made_again(path, monkeypatch):
    mark, reader = Watermark(path, create=True), Watermark(path)
    mark.set(5)
    path.unlink()
    again = Watermark(path, create=True)
    again.set(7)
    _later(monkeypatch)
    assert reader.get() == 7


def test_a_writer_makes_a_mark_again_that_was_removed(path, monkeypatch):
    mark, reader = Watermark(path, create=True), Watermark(path)
    mark.set(5)
    path.unlink()
    _later(monkeypatch)
    assert reader.get() == 5, "the last that was known"
    mark.set(6)
    assert Watermark(path).get() == 6


def test_a_mark_that_is_cut_off_is_mended_by_its_writer_and_awaited_by_readers(path, monkeypatch):
    mark = Watermark(path, create=True)
    mark.set(5)
    path.write_bytes(b"")
    with pytest.raises(LogUnavailable, match="truncated"):
        Watermark(path)
    _later(monkeypatch)
    mark.set(6)
    assert Watermark(path).get() == 6
