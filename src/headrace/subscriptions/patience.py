"""Losing the database and finding it again: what may be repeated is repeated for a while, and then it is said.

A server that restarts, a connection that breaks, two transactions that lock each other: all of these pass. What
decides is whether a call may run a second time when nobody knows whether the first one's commit got through.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from headrace.database.integrity import is_corruption
from headrace.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0

FOREVER = float("inf")


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
    """What keeps its rows in a database, and how many seconds it tries when that is lost."""

    patience: float


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


def patiently(action: Callable[[], _T], seconds: float, may_repeat: Callable[[], bool] = lambda: True) -> _T:
    """Act, again and again while the database is lost, for so many seconds at most."""
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        try:
            return action()
        except DBAPIError as error:
            if not is_passing(error):
                raise
            reason = str(error.orig).strip()
            if not may_repeat() or time.monotonic() + pause > deadline:
                raise StoreUnavailable(reason, unknown=_call.committed) from error
            if pause == _LONGEST_PAUSE:
                _log.warning("the database can't be used and is tried again: %s", reason)
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(pause * 2, _LONGEST_PAUSE)


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
            return patiently(lambda: method(self, *arguments, **named), self.patience, may_repeat)

    return call
