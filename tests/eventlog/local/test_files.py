import os

import pytest

from headrace.errors import LogLocked
from headrace.eventlog.local import files
from headrace.eventlog.local.files import (
    WriterLock,
    read_checked,
    remove_temporaries,
    write_atomically,
    write_checked,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def broken(*_):
    raise OSError("no")


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "f"
    write_atomically(path, b"old")
    write_atomically(path, memoryview(b"new and longer"))
    assert path.read_bytes() == b"new and longer"
    assert names(tmp_path) == ["f"]


def test_the_content_is_synced_before_the_name_and_the_name_before_it_is_told(tmp_path, monkeypatch):
    path = tmp_path / "f"
    steps = []
    sync, folder_sync = os.fsync, files.sync_folder

    def record(descriptor):
        steps.append(("file", path.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(files, "sync_folder", lambda folder: steps.append(("folder", path.exists())))
    write_atomically(path, b"x")
    assert steps == [("file", False), ("folder", True)]
    steps.clear()
    folder_sync(tmp_path)
    assert steps == [("file", True)]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.rename"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "f"
    write_atomically(path, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(step, broken)
        with pytest.raises(OSError, match="no"):
            write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_only_temporaries_are_removed(tmp_path):
    for name in ("a.tmp", "b.seg.tmp", "b.seg", "tmp", "c.tmp.seg"):
        (tmp_path / name).touch()
    remove_temporaries(tmp_path)
    assert names(tmp_path) == ["b.seg", "c.tmp.seg", "tmp"]


def test_the_lock_names_its_holder_and_passes_on(tmp_path):
    lock = WriterLock(tmp_path)
    with pytest.raises(
        LogLocked, match=f"{tmp_path} is written by another process \\(process {os.getpid()}\\)"
    ):
        WriterLock(tmp_path)
    lock.release()
    (tmp_path / "LOCK").write_text("12345678 of a process that ended long ago")
    again = WriterLock(tmp_path)
    assert (tmp_path / "LOCK").read_text() == str(os.getpid())
    again.release()


def test_two_folders_have_two_locks(tmp_path):
    locks = []
    for name in "ab":
        (tmp_path / name).mkdir()
        locks.append(WriterLock(tmp_path / name))
    for lock in locks:
        lock.release()


def test_a_checked_file_is_what_was_written_or_counts_as_missing(tmp_path):
    path = tmp_path / "f"
    assert read_checked(path) is None
    for content in (b"", b"7", b"two\nlines"):
        write_checked(path, content)
        assert read_checked(path) == content
        whole = path.read_bytes()
        for at in range(len(whole)):
            path.write_bytes(whole[:at])
            assert read_checked(path) is None
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert read_checked(path) is None
