"""Full disks, for real where a file system may be mounted, and by a limit on the file's size everywhere."""

import signal

import pytest
from tests.eventlog.arrivals import arrival, arrivals, ids, python

from headrace.errors import LogUnavailable
from headrace.eventlog.local.reader import SegmentReader

OPEN_LOGS = """
import sys
from pathlib import Path
from headrace.eventlog.local.writer import SegmentWriter
from tests.eventlog.conftest import Disk
disk = Disk(Path(sys.argv[1]))
for pages in range(8):
    disk.fill(leave=pages * 4096)
    try:
        SegmentWriter(disk.folder / f"log{pages}", 1 << 20)
    except OSError as error:
        print(error.strerror)
    else:
        print("open")
    disk.free()
"""

LIMITED = """
import resource, sys
from pathlib import Path
from headrace.errors import LogUnavailable
from headrace.eventlog.local.writer import SegmentWriter
from tests.eventlog.arrivals import arrival, ids
folder = Path(sys.argv[1])
writer = SegmentWriter(folder, 1 << 30)
writer.append([arrival("before")])
size = next(folder.glob("*.seg")).stat().st_size
for room in (0, 1, 39, 40, 41, 3000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    try:
        writer.append([arrival("refused", b"x" * 5000)])
    except LogUnavailable as error:
        print(type(error.__cause__).__name__, next(folder.glob("*.seg")).stat().st_size - size)
    assert ids(folder) == ["before"]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(writer.append([arrival("after")]), ids(folder))
"""


def output_of(process):
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


def test_appending_fails_as_a_whole_and_goes_on_when_there_is_room(disk, open_log):
    folder = disk.folder / "log"
    writer = open_log(folder)
    writer.append(arrivals("abc"))
    watching = SegmentReader(folder)
    disk.fill(leave=8192)
    for _ in range(3):
        with pytest.raises(LogUnavailable, match="No space left"):
            writer.append(arrivals(["lost", "lost too"], b"x" * 20_000))
        assert writer.end == watching.end()[0] == 3
        assert ids(folder) == ["a", "b", "c"]
    disk.free()
    assert writer.append(arrivals("de")) == 3
    assert sum(batch.num_rows for batch in watching.read(0, watching.end()[0])) == 5
    writer.close()
    again = open_log(folder)
    assert again.append(arrivals("f")) == 5
    assert ids(folder) == list("abcdef")


def test_a_new_segment_fails_as_a_whole_and_goes_on_when_there_is_room(disk, open_log):
    folder = disk.folder / "log"
    writer = open_log(folder, 1)
    writer.append(arrivals("abc"))
    disk.fill()
    for _ in range(3):
        with pytest.raises(LogUnavailable, match="No space left"):
            writer.append(arrivals("x"))
        assert writer.end == 3
        assert ids(folder) == ["a", "b", "c"]
    assert not list(folder.glob("*.tmp"))
    disk.free()
    assert writer.append(arrivals("d")) == 3
    assert writer.append(arrivals("e")) == 4
    writer.close()
    open_log(folder, 1).close()
    assert ids(folder) == list("abcde")


def test_a_log_opens_on_a_full_disk(disk, open_log):
    """Otherwise a restart at the wrong moment would keep its readers from draining it."""
    folder = disk.folder / "log"
    writer = open_log(folder)
    writer.append(arrivals("abc"))
    writer.close()
    disk.fill()
    again = open_log(folder)
    assert ids(folder) == ["a", "b", "c"]
    with pytest.raises(LogUnavailable):
        again.append(arrivals("x", b"x" * 20_000))


def test_a_new_log_on_a_nearly_full_disk_fails_with_an_error(disk):
    """Never by a signal: each page that is left goes to another file of the new log."""
    code, out = output_of(python(OPEN_LOGS, disk.folder))
    assert code != -signal.SIGBUS
    assert code == 0
    answers = out.splitlines()
    assert len(answers) == 8
    assert set(answers) == {"open", "No space left on device"}


def test_a_file_that_may_not_grow(tmp_path):
    code, out = output_of(python(LIMITED, tmp_path / "log"))
    assert code == 0
    *refusals, last = out.splitlines()
    assert refusals == ["OSError 0"] * 6
    assert last == "1 ['before', 'after']"


def test_the_message_says_what_to_do(disk, open_log):
    writer = open_log(disk.folder / "log")
    disk.fill()
    with pytest.raises(LogUnavailable) as caught:
        writer.append([arrival("x", b"x" * 20_000)])
    assert "nothing was stored, try again in 1 s" in str(caught.value)
    assert caught.value.retry_after == 1
