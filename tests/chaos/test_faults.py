"""The faults do what they say, and the same again for the same seed."""

import pytest
from tests.chaos.faults import Fault, NotApplicable, damage
from tests.chaos.kinds import kinds_in

BEFORE, AFTER = bytes(100) + bytes(range(1, 101)), b"older"


@pytest.fixture
def folders(tmp_path):
    for name, content in (("data", BEFORE), ("older", AFTER)):
        (tmp_path / name / "log").mkdir(parents=True)
        (tmp_path / name / "log" / "file").write_bytes(content)
    return tmp_path / "data", tmp_path / "older"


def damaged(folders, fault):
    data, older = folders
    (data / "log" / "file").write_bytes(BEFORE)
    assert damage(data, older, ["log/file", "log/gone"], fault, 1) == ["log/file"]
    return (data / "log" / "file").read_bytes() if (data / "log" / "file").exists() else None


@pytest.mark.parametrize("fault", [Fault.FLIP_HEAD, Fault.FLIP_MIDDLE, Fault.FLIP_END])
def test_one_bit_is_flipped(folders, fault):
    after = damaged(folders, fault)
    assert sum((one ^ other).bit_count() for one, other in zip(BEFORE, after, strict=True)) == 1
    assert damaged(folders, fault) == after


@pytest.mark.parametrize(
    ("fault", "after"),
    [
        (Fault.HALVE, BEFORE[:100]),
        (Fault.SHORTEN, BEFORE[:-1]),
        (Fault.EMPTY, b""),
        (Fault.REMOVE, None),
        (Fault.OLDER_RENAMED, AFTER),
        (Fault.OLDER_WRITTEN, AFTER),
    ],
)
def test_a_file_is_what_the_fault_leaves(folders, fault, after):
    assert damaged(folders, fault) == after


def test_a_copy_that_is_renamed_is_another_file_and_one_that_is_written_is_the_same(folders):
    path = folders[0] / "log" / "file"
    inode = path.stat().st_ino
    damaged(folders, Fault.OLDER_WRITTEN)
    assert path.stat().st_ino == inode
    damaged(folders, Fault.OLDER_RENAMED)
    assert path.stat().st_ino != inode


def test_what_would_change_nothing_is_no_fault(folders):
    data, older = folders
    (older / "log" / "file").write_bytes(BEFORE)
    with pytest.raises(NotApplicable):
        damage(data, older, ["log/file"], Fault.OLDER_WRITTEN, 1)


def test_a_kind_that_nobody_listed_is_found(folders):
    data, older = folders
    (data / "log" / "IDENTITY").write_bytes(b"x")
    (data / "something.new").write_bytes(b"x")
    found = kinds_in(data, older)
    assert found["log/IDENTITY"].files == ("log/IDENTITY",)
    assert found["something.new"].files == ("something.new",)
    assert found["log/"].folder == "log"
