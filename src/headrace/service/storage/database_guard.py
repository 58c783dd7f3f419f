"""End a role when a database that it uses is damaged or gone: nothing it does would be kept."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import TYPE_CHECKING, Self

from headrace.database.sqlite.watch import look_at_all
from headrace.errors import DatabaseDamaged

if TYPE_CHECKING:
    from types import TracebackType

_LOOK_SECONDS = 1.0
# For this long requests are still answered with the reason, and /readyz shows it.
_TELL_SECONDS = 2.0


class DatabaseGuard:
    """Checks the databases while a role runs, tells the role to stop, and raises DatabaseDamaged at its end.

    DatabaseDamaged replaces any other error that the role ends with, which is its consequence.
    """

    def __init__(self) -> None:
        self._refusal: DatabaseDamaged | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-databases", daemon=True)

    def __enter__(self) -> Self:
        for handler in logging.getLogger().handlers:
            handler.addFilter(_is_news)
        self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        self._ended.set()
        refusal = self._refusal or _refusal_in(error)
        if refusal is not None and refusal is not error:
            raise refusal from error

    def _run(self) -> None:
        while self._refusal is None and not self._ended.wait(_LOOK_SECONDS):
            self._refusal = look_at_all()
        if not self._ended.wait(_TELL_SECONDS):
            os.kill(os.getpid(), signal.SIGTERM)


def _is_news(record: logging.LogRecord) -> bool:
    """Drop log records of the damage: the role logs it once, at its end."""
    arguments = record.args if isinstance(record.args, tuple) else ()
    return record.levelno >= logging.ERROR or not any(isinstance(each, DatabaseDamaged) for each in arguments)


def _refusal_in(error: BaseException | None) -> DatabaseDamaged | None:
    """Find DatabaseDamaged in an error or a group of errors."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_refusal_in, error.exceptions)), None)
    return error if isinstance(error, DatabaseDamaged) else None
