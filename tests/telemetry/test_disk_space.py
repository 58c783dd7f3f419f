"""Full disks: what says so, and waiting until there is room."""

import errno
import threading
import time

import pytest

from headrace.errors import StoreUnavailable
from headrace.telemetry.disk_space import await_space, has_space, is_disk_full
from headrace.telemetry.health import HEALTH, Status


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "x"), True),
        (OSError(errno.EDQUOT, "x"), True),
        (OSError(errno.EIO, "x"), False),
        (StoreUnavailable("database or disk is full"), True),
        (StoreUnavailable("database is locked"), False),
        (RuntimeError("java.io.IOException: No space left on device\n\tat x"), True),
        (None, False),
    ],
)
def test_what_says_that_there_is_no_room(error, expected):
    assert is_disk_full(error) is expected


def test_the_cause_counts_too():
    error = ValueError("x")
    error.__cause__ = OSError(errno.ENOSPC, "x")
    assert is_disk_full(error)
    error.__cause__ = error
    assert not is_disk_full(error)


def test_it_waits_as_long_as_the_disk_is_full_and_says_so(disk):
    assert has_space(disk.folder, 1 << 20)
    await_space("route", disk.folder, 1 << 20, lambda _: pytest.fail("there is room"))
    disk.fill()
    assert not has_space(disk.folder, 1 << 20)
    waiting = threading.Thread(
        target=await_space, args=("route", disk.folder, 1 << 20, threading.Event().wait)
    )
    waiting.start()
    deadline = time.monotonic() + 20
    while "route" not in HEALTH.reports():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    report = HEALTH.reports()["route"]
    assert report.status is Status.BLOCKED
    assert f"the disk of {disk.folder} is full: " in report.note
    assert "1,048,576 are needed; free some space" in report.note
    assert waiting.is_alive()
    disk.free()
    waiting.join(20)
    assert HEALTH.reports()["route"].status is Status.WORKING
    HEALTH.forget("route")


def test_who_is_told_to_stop_waits_no_longer(disk):
    disk.fill()
    await_space("route", disk.folder, 1 << 20, lambda _: True)
    HEALTH.forget("route")
