"""Start the roles as processes, restart those that die, and stop them in order."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.config import write_snapshot
from headrace.errors import ConfigError, LogLocked
from headrace.eventlog.local.files import WriterLock
from headrace.eventlog.local.segments import END_WATERMARK
from headrace.service.processes.descriptors import check_descriptors
from headrace.service.processes.heartbeats import (
    has_started,
    note_end,
    note_start,
    reason_of_end,
    role_statuses,
)
from headrace.service.role import EXIT_REFUSED, ROLES
from headrace.service.storage.database_files import check_databases, seal_databases
from headrace.service.storage.layout import Layout
from headrace.service.storage.privacy import keep_private
from headrace.telemetry.metrics import FOLDER_VARIABLE
from headrace.telemetry.readiness import RoleState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.config import Config
    from headrace.telemetry.readiness import RoleStatus

_log = logging.getLogger(__name__)
_LONGEST_PAUSE = 30.0
# After this long a role counts as healthy: its next failure is a first one again.
_HEALTHY_SECONDS = 60.0
# The first stop of Spark on a machine writes its class archive.
_STOP_SECONDS = 45.0


# By default glibc keeps up to eight heaps for each core, and each keeps what was freed in it.
_ALLOCATOR = {"MALLOC_ARENA_MAX": "2"}
# The roles that make the embedded log.
_WRITERS = ("http", "ingress")


class Supervisor:
    """Runs some or all roles of a deployment on one machine. Call `run` from the main thread."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._layout = Layout(config.data)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._failures = dict.fromkeys(config.roles, 0)
        self._restart_at: dict[str, float] = {}
        self._started_at: dict[str, float] = {}
        self._stop = threading.Event()

    def run(self, on_ready: Callable[[], None]) -> int:
        """Keep all roles running until told to stop; return the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        self._prepare()
        refused = False
        watch = _Watch(on_ready)
        try:
            self._await_log_of_others()
            for role in sorted(self._config.roles, key=ROLES.index):
                self._start(role)
                refused = refused or not self._await_log()
            while not refused and not self._stop.wait(0.5 if watch.was_ready else 0.1):
                refused = self._tend()
                watch.look(role_statuses(self._layout.run, self._config.roles))
        finally:
            self._stop_all()
            seal_databases(self._config)
        return EXIT_REFUSED if refused else 0

    def _prepare(self) -> None:
        if not self._config.roles:
            raise ConfigError(f"no role is to run here; there are: {', '.join(ROLES)}")
        for role in self._config.roles:
            if role not in ROLES:
                raise ConfigError(f"there is no role {role!r}; there are: {', '.join(ROLES)}")
        check_descriptors(self._config)
        try:
            keep_private(self._config.data)
            # Before anything of a running service is touched: others may run other roles on this data folder.
            self._locks = {role: self._lock(role) for role in self._config.roles}
            for role in self._config.roles:
                note_start(self._layout.run, role, os.getpid())
            shutil.rmtree(self._metrics, ignore_errors=True)
            for role in self._config.roles:
                self._make_run_files(role)
        except OSError as error:
            raise ConfigError(
                f"the data folder {self._layout.data} can't be used: {error.strerror}"
            ) from error
        check_databases(self._config)

    def _lock(self, role: str) -> WriterLock:
        folder = self._layout.run / role
        folder.mkdir(parents=True, exist_ok=True)
        return WriterLock(folder)

    def _snapshot(self, role: str) -> Path:
        return self._layout.run / role / "config.json"

    @property
    def _metrics(self) -> Path:
        """The folder shared by the roles that run here, named after one of them: its lock keeps others out."""
        return self._layout.run / min(self._config.roles) / "metrics"

    def _make_run_files(self, role: str) -> None:
        """Make what a role's process needs at its start; it may have been removed or damaged since the last one."""
        self._snapshot(role).parent.mkdir(parents=True, exist_ok=True)
        self._metrics.mkdir(parents=True, exist_ok=True)
        write_snapshot(self._config, self._snapshot(role))

    def _keep_locks(self) -> bool:
        """Take locks again that were removed with the run folder; return False if another service has taken one."""
        for role, lock in self._locks.items():
            try:
                if lock.is_removed:
                    self._locks[role] = self._lock(role)
                    lock.release()
                    _log.warning(
                        "the lock of role %s in %s was removed and is made anew", role, self._layout.run
                    )
            except LogLocked as error:
                _log.error("this service ends, for its lock was removed: %s", error)
                return False
            except OSError as error:  # the disk may be full: try again at the next check
                _log.error("the lock of role %s can't be made anew now, and is tried again: %s", role, error)
        return True

    def _start(self, role: str) -> None:
        self._make_run_files(role)
        command = [sys.executable, "-m", "headrace.service.role", role, str(self._snapshot(role))]
        environment = _ALLOCATOR | os.environ | {FOLDER_VARIABLE: str(self._metrics)}
        self._processes[role] = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)  # noqa: S603
        self._started_at[role] = time.monotonic()

    def _await_log_of_others(self) -> None:
        """If another process creates the embedded log, wait until it has."""
        mark = self._layout.log / END_WATERMARK
        if self._config.log.kind != "local" or any(role in _WRITERS for role in self._config.roles):
            return
        if not mark.exists():
            _log.info("there is no log in %s yet; the role ingress or http makes it", self._layout.log)
        while not mark.exists() and not self._stop.wait(0.1):
            pass

    def _await_log(self) -> bool:
        """Wait until the log exists, because the other roles read it; return False if its role refuses to run."""
        writers = [role for role in _WRITERS if role in self._processes]
        while not self._stop.is_set() and not all(has_started(self._layout.run, each) for each in writers):
            if self._tend():
                return False
            time.sleep(0.02)
        return True

    def _tend(self) -> bool:
        """Restart roles that died, after a growing pause; return True if a role refuses to run or runs elsewhere."""
        if not self._keep_locks():
            return True
        for role, process in list(self._processes.items()):
            status = process.poll()
            if status == EXIT_REFUSED:
                return True
            try:
                self._tend_role(role, process.pid, status)
            except OSError as error:  # no memory, no descriptor: try again at the next check
                _log.error("role %s can't be checked or restarted now, and is tried again: %s", role, error)
        return False

    def _tend_role(self, role: str, pid: int, status: int | None) -> None:
        now = time.monotonic()
        if status is not None and role not in self._restart_at:
            self._note_end(role, pid, status, now)
        elif self._restart_at.get(role, now + 1) <= now:
            # The pause first: where the start fails, the next one waits longer.
            del self._restart_at[role]
            self._start(role)

    def _note_end(self, role: str, pid: int, status: int, now: float) -> None:
        if now - self._started_at[role] > _HEALTHY_SECONDS:
            self._failures[role] = 0
        pause = min(2.0 ** self._failures[role], _LONGEST_PAUSE)
        self._failures[role] += 1
        self._restart_at[role] = now + pause
        why = reason_of_end(self._layout.run, role, pid)
        reason = f"it {_ended(status)} and starts again in {pause:g} s" + (f": {why}" if why else "")
        note_end(self._layout.run, role, self._failures[role], reason)
        _log.error("role %s %s and starts again in %g s", role, _ended(status), pause)

    def _stop_all(self) -> None:
        """Tell all roles to stop; each finishes what it has begun. Kill those that don't end in time."""
        for process in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for role, process in self._processes.items():
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                _log.warning("role %s doesn't stop and is killed; what it left undone is repeated", role)
                process.kill()
                process.wait()


class _Watch:
    """Reports when all roles are ready for the first time, and from then on logs each change of readiness once."""

    def __init__(self, on_ready: Callable[[], None]) -> None:
        self.was_ready = False
        self._on_ready = on_ready
        self._states: dict[str, str] = {}

    def look(self, statuses: dict[str, RoleStatus]) -> None:
        if not self.was_ready:
            self.was_ready = all(each.is_ready for each in statuses.values())
            if self.was_ready:
                with suppress(OSError):  # what it prints to may be full
                    self._on_ready()
            return
        for role, status in statuses.items():
            if status.state != self._states.get(role, RoleState.READY):
                self._tell(role, status)
            self._states[role] = status.state

    def _tell(self, role: str, status: RoleStatus) -> None:
        if status.is_ready:
            _log.info("role %s is ready again", role)
        else:
            _log.warning("role %s is %s: %s", role, status.state, status.problem)


def _ended(status: int) -> str:
    """Describe how a process ended. SIGKILL comes from an operator, or from the kernel when memory is short."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was ended by {name}"
