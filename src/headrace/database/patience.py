"""Losing the database and finding it again: what may be repeated is repeated for a while, and then it is said.

A server that restarts, a connection that breaks, two transactions that lock each other: all of these pass. What
decides is whether a call may run a second time when nobody knows whether the first one's commit got through.

A full disk passes too, and there it is known that nothing was committed. A role that nobody waits for outlasts it,
however long that takes; a request is answered when its patience ends.
"""

from __future__ import annotations

import logging
import random
import sqlite3
import threading
import time
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from headrace.database.sqlite.integrity import is_corruption
from headrace.errors import StoreUnavailable
from headrace.telemetry.disk_space import is_disk_full
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

    from headrace.database.database import Database

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0

FOREVER = float("inf")

_PART = "database"
# A call that waits for longer than this is worth a word in the register of health.
_TELL_AFTER = 5.0
_LINE_SECONDS = 30.0
# PostgreSQL's code for a full disk, and what SQLite says of writes that a quota or a failing disk refused.
_DISK_FULL = "53100"
_REFUSED_WRITES = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})


class _Call(threading.local):
    """The call that a thread is in, with those that it makes itself, and whether it began a commit."""

    depth = 0
    committed = False

    def __enter__(self) -> None:
        self.committed = self.committed and self.depth > 0
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


_call = _Call()


class Patient(Protocol):
    """What keeps its rows in a database, which says for how many seconds a call tries when it is lost."""

    database: Database


_P = ParamSpec("_P")
_T = TypeVar("_T")
_S = TypeVar("_S", bound=Patient)


def watch_commits(engine: Engine) -> None:
    """Take note when a commit is begun: from then on nobody knows, until it returns."""
    event.listen(engine, "commit", lambda _: setattr(_call, "committed", True))


def repeatable(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Mark a method that may run twice with the same result: it reads, or writes what it would write again."""
    return _patiently(method, may_repeat=lambda: True)


def once(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Mark a method that must not run twice: it is repeated only while no commit was begun."""
    return _patiently(method, may_repeat=lambda: not _call.committed)


class _FullDisks:
    """Whether calls of this process outlast full disks: until somebody says that it is to stop."""

    def __init__(self) -> None:
        self.are_outlasted: Callable[[], bool] = lambda: False


_full_disks = _FullDisks()


def outlast_full_disks(is_stopping: Callable[[], bool]) -> None:
    """Have calls of this process wait for room on a full disk for as long as it takes, or until it is to stop."""
    _full_disks.are_outlasted = lambda: not is_stopping()


def patiently(action: Callable[[], _T], seconds: float, may_repeat: Callable[[], bool] = lambda: True) -> _T:
    """Act, again and again while the database is lost, for so many seconds at most; longer while the disk is full."""
    waiting, pause = _Waiting(), _FIRST_PAUSE
    try:
        while True:
            try:
                return action()
            except DBAPIError as error:
                if not is_passing(error):
                    raise
                _judge(error, waiting.began + seconds - pause, may_repeat)
                if pause == _LONGEST_PAUSE:
                    waiting.tell(error)
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, _LONGEST_PAUSE)
    finally:
        waiting.end()


def _judge(error: DBAPIError, last_start: float, may_repeat: Callable[[], bool]) -> None:
    """Raise what ends the waiting, if it is to end."""
    is_full = is_out_of_room(error)
    if is_full and _full_disks.are_outlasted():
        return
    if time.monotonic() > last_start or not (is_full or may_repeat()):
        is_unknown = _call.committed and not is_full
        raise StoreUnavailable(str(error.orig).strip(), unknown=is_unknown) from error


class _Waiting:
    """What is said of a call that waits: a line in the log now and then, and a word in the register of health."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._next_line = 0.0
        self._is_told = False

    def tell(self, error: DBAPIError) -> None:
        """Say that it waits, and for what."""
        now, reason = time.monotonic(), str(error.orig).strip()
        if now >= self._next_line:
            self._next_line = now + _LINE_SECONDS
            _log.warning("the database can't be used and is tried again: %s", reason)
        if now - self.began >= _TELL_AFTER:
            self._is_told = True
            HEALTH.blocked(_PART, _sentence(error, now - self.began))

    def end(self) -> None:
        """Take it back."""
        if self._is_told:
            HEALTH.forget(_PART)


def _sentence(error: DBAPIError, seconds: float) -> str:
    remedy = "free some space" if is_out_of_room(error) else "see that it runs and can be reached"
    reason = str(error.orig).strip()
    return f"it can't be used for {seconds:.0f} s ({reason}); {remedy}, and it goes on by itself"


def is_out_of_room(error: DBAPIError) -> bool:
    """Tell whether a disk is full, of SQLite or of a server. Then the transaction was rolled back: it is certain."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    is_server_full = getattr(error.orig, "sqlstate", None) == _DISK_FULL
    return code in _REFUSED_WRITES or is_server_full or is_disk_full(error)


def is_passing(error: DBAPIError) -> bool:
    """Tell what another attempt may get past, from what will be wrong each time: a damaged file never heals."""
    if is_corruption(error.orig):
        return False
    return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)


def _patiently(
    method: Callable[Concatenate[_S, _P], _T], may_repeat: Callable[[], bool]
) -> Callable[Concatenate[_S, _P], _T]:
    @wraps(method)
    def call(self: _S, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        with _call:
            return patiently(lambda: method(self, *arguments, **named), self.database.patience, may_repeat)

    return call
