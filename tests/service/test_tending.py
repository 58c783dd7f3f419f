"""The supervisor's care for roles: what it says of one that ended, and that no error of the system ends it."""

import errno
import shutil
import signal
import time

import pytest
from tests.chaos.faults import Fault, damage
from tests.disks import disk

from headrace.config import load_config, read_snapshot
from headrace.errors import LogLocked
from headrace.eventlog.local.files import WriterLock
from headrace.service.processes import supervisor
from headrace.service.processes.heartbeats import beat_path, has_started, role_statuses
from headrace.service.processes.supervisor import Supervisor
from headrace.telemetry.health import Health
from headrace.telemetry.heartbeat import Heartbeat
from headrace.telemetry.readiness import RoleState, RoleStatus

__all__ = ["disk"]


class Process:
    """A role's process that ends when the test says so."""

    pid = 2**22 + 1  # nobody's

    def __init__(self):
        self.status = None

    def poll(self):
        return self.status


class Tended:
    def __init__(self, folder, monkeypatch):
        self.run = folder / "run"
        self.started, self.failure = [], None
        monkeypatch.setattr("subprocess.Popen", self._popen)
        self.supervisor = Supervisor(load_config(None, {"data": str(folder), "roles": ["dispatcher"]}, {}))
        self.supervisor._prepare()
        self.supervisor._start("dispatcher")

    def _popen(self, *_, **__):
        if self.failure is not None:
            raise self.failure
        self.started.append(Process())
        return self.started[-1]

    def end(self, status):
        self.started[-1].status = status
        return self.supervisor._tend()

    def let_the_pause_pass(self):
        self.supervisor._restart_at = dict.fromkeys(self.supervisor._restart_at, 0.0)
        return self.supervisor._tend()

    def status(self) -> RoleStatus:
        return role_statuses(self.run, ["dispatcher"])["dispatcher"]


@pytest.fixture
def tend(monkeypatch):
    """Make supervisors of a folder; their locks are let go of."""
    made = []

    def tend_in(folder):
        made.append(Tended(folder, monkeypatch))
        return made[-1]

    yield tend_in
    for each in made:
        for lock in each.supervisor._locks.values():
            lock.release()


@pytest.fixture
def tended(tmp_path, tend):
    return tend(tmp_path)


def test_a_role_that_ended_is_restarting_and_says_why(tended):
    assert tended.status().state is RoleState.STARTING
    assert tended.end(1) is False
    assert tended.status().state is RoleState.RESTARTING
    assert tended.status().problem == "it ended with status 1 and starts again in 1 s"
    tended.let_the_pause_pass()
    assert len(tended.started) == 2
    tended.end(-signal.SIGKILL)
    assert tended.status().problem == "it was ended by SIGKILL and starts again in 2 s"


def test_its_last_words_are_passed_on(tended, monkeypatch):
    monkeypatch.setattr("os.getpid", lambda: Process.pid)
    Heartbeat(beat_path(tended.run, "dispatcher"), Health()).end("the ledger is damaged")
    tended.end(1)
    assert tended.status().problem == "it ended with status 1 and starts again in 1 s: the ledger is damaged"


def test_a_role_in_a_crash_loop_is_not_ready_from_its_second_end_on(tended):
    """It comes up each time and works for a moment; a first end may be an accident."""
    states = []
    for _ in range(4):
        health = Health()
        heart = Heartbeat(beat_path(tended.run, "dispatcher"), health)
        health.started()
        heart.beat()
        assert has_started(tended.run, "dispatcher")
        states.append(tended.status().state)
        tended.end(1)
        tended.let_the_pause_pass()
    assert states == [RoleState.READY, RoleState.READY, RoleState.RESTARTING, RoleState.RESTARTING]
    assert "ended with status 1" in str(tended.status().problem)


def test_a_start_that_the_system_refuses_is_tried_again(tended):
    tended.end(1)
    tended.failure = OSError(errno.ENOMEM, "Cannot allocate memory")
    for _ in range(3):
        assert tended.let_the_pause_pass() is False
        assert tended.supervisor._tend() is False
    tended.failure = None
    tended.let_the_pause_pass()
    assert len(tended.started) == 2


def test_a_full_disk_does_not_end_it(disk, tend):
    tended = tend(disk.folder / "data")
    disk.fill()
    for number in range(3):
        assert tended.end(1) is False
        assert tended.status().state is RoleState.RESTARTING
        assert f"starts again in {2**number} s" in str(tended.status().problem)
        tended.let_the_pause_pass()
    disk.free()


def test_who_isnt_ready_any_more_is_told_once(caplog):
    told = []
    watch = supervisor._Watch(lambda: told.append(True))
    watch.look({"http": RoleStatus(RoleState.STARTING)})
    assert not told
    for status in (
        RoleStatus(RoleState.READY),
        RoleStatus(RoleState.BLOCKED, problem="log: the disk is full"),
        RoleStatus(RoleState.BLOCKED, problem="log: the disk is full"),
        RoleStatus(RoleState.READY),
    ):
        with caplog.at_level("INFO"):
            watch.look({"http": status})
    assert told == [True]
    assert caplog.messages == ["role http is blocked: log: the disk is full", "role http is ready again"]


def test_a_message_that_finds_no_room_ends_nothing():
    def fail():
        raise OSError(errno.ENOSPC, "No space left on device")

    watch = supervisor._Watch(fail)
    watch.look({"http": RoleStatus(RoleState.READY)})
    assert watch.was_ready


def test_a_role_that_lasts_begins_anew_with_its_failures(tended):
    for _ in range(3):
        tended.end(1)
        tended.let_the_pause_pass()
    tended.supervisor._started_at["dispatcher"] = time.monotonic() - 61
    tended.end(1)
    assert tended.status().problem == "it ended with status 1 and starts again in 1 s"


@pytest.mark.parametrize("fault", list(Fault))
def test_a_role_is_started_again_with_its_settings_whatever_became_of_their_file(tended, tmp_path, fault):
    older = tmp_path / "older" / "config.json"
    older.parent.mkdir()
    older.write_text('{"roles": ["http"]}')
    damage(tended.run / "dispatcher", older.parent, ["config.json"], fault, seed=1)
    tended.end(1)
    tended.let_the_pause_pass()
    assert len(tended.started) == 2
    assert read_snapshot(tended.run / "dispatcher" / "config.json") == tended.supervisor._config


def test_what_is_whole_is_not_written_again(disk, tend):
    """A role comes back on a full disk, too."""
    tended = tend(disk.folder / "data")
    disk.fill()
    tended.end(1)
    tended.let_the_pause_pass()
    assert len(tended.started) == 2
    disk.free()


def test_a_run_folder_that_was_removed_is_made_anew(tended):
    shutil.rmtree(tended.run)
    tended.end(1)
    tended.let_the_pause_pass()
    assert read_snapshot(tended.run / "dispatcher" / "config.json") == tended.supervisor._config
    assert (tended.run / "dispatcher" / "metrics").is_dir()
    assert (tended.run / "dispatcher.beat").exists()


def test_a_lock_that_was_removed_is_taken_again(tended):
    """A second service on the folder would deliver everything twice."""
    shutil.rmtree(tended.run)
    assert tended.supervisor._tend() is False
    with pytest.raises(LogLocked):
        WriterLock(tended.run / "dispatcher")


def test_where_another_service_has_the_lock_meanwhile_this_one_ends(tended, caplog):
    (tended.run / "dispatcher" / "LOCK").unlink()
    other = WriterLock(tended.run / "dispatcher")
    assert tended.supervisor._tend() is True
    assert "another process" in caplog.text
    other.release()
