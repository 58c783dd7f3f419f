"""Copies of the index on a machine's own disk are what was copied, whatever lies there from before."""

import os

import pytest

from headrace.errors import SnapshotRefused
from headrace.pipeline.roster.node_cache import FOLDER_VARIABLE, open_cached


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


@pytest.fixture
def shared(tmp_path):
    folder = tmp_path / "rosters"
    folder.mkdir()
    return folder


def written(folder, name, content):
    path = folder / name
    path.write_text(content)
    return path


def read(path):
    """As a matcher opens a snapshot: what isn't whole is refused."""
    content = path.read_text()
    if not content.endswith("."):
        raise SnapshotRefused(path, "it isn't whole")
    return path, content


def test_without_a_folder_the_file_itself_is_opened(shared, monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    base = written(shared, "5-3.index", "base.")
    assert open_cached(base, read) == (base, "base.")


def test_a_copy_is_made_once_and_outlives_the_file(shared, cache):
    base = written(shared, "5-3.index", "base.")
    first, _ = open_cached(base, read)
    assert first.parent == cache
    assert open_cached(base, read) == (first, "base.")
    assert len(list(cache.iterdir())) == 1


def test_a_file_of_the_same_name_that_was_written_later_is_another_one(shared, cache):
    """As when a deployment begins anew, with an empty store and the same folder."""
    base = written(shared, "5-3.index", "old one.")
    open_cached(base, read)
    written(shared, "5-3.index", "new one.")
    os.utime(base, ns=(1, base.stat().st_mtime_ns + 1))
    assert open_cached(base, read)[1] == "new one."


def test_a_copy_that_was_cut_off_is_made_anew(shared, cache):
    base = written(shared, "5-3.index", "base.")
    copy, _ = open_cached(base, read)
    copy.write_text("ba")
    assert open_cached(base, read) == (copy, "base.")
    base.write_text("ba")
    with pytest.raises(SnapshotRefused):
        open_cached(base, read)


def test_the_newest_copies_are_kept_whatever_their_names_say(shared, cache):
    """The revisions of a store that began anew are lower than those of the old one."""
    for number, name in enumerate(["8-1", "9-1", "1-1"]):
        copy, content = open_cached(written(shared, f"{name}.index", f"{name}."), read)
        os.utime(copy, (number, number))
        assert content == f"{name}."
    assert copy.exists()
    assert len(list(cache.iterdir())) == 2
