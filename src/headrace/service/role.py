"""The entry of a role's process: `python -m headrace.service.role NAME CONFIG_FILE`.

The supervisor holds the other end of standard input; when it is gone, however it went, the role stops too.
"""

from __future__ import annotations

import importlib
import logging
import signal
import sys
import threading
from pathlib import Path

from headrace.config import Config, read_snapshot
from headrace.errors import (
    BrokerUnavailable,
    ConfigError,
    DatabaseDamaged,
    HeadraceError,
    LogUnavailable,
    MasterUnreachable,
    StoreUnavailable,
    first_line,
)
from headrace.heap import spare_heap, spare_pandas
from headrace.service.processes.heartbeats import beat_path
from headrace.service.processes.lifeline import hold_on_to_starter
from headrace.service.storage.database_guard import DatabaseGuard
from headrace.service.storage.layout import Layout
from headrace.service.storage.privacy import keep_private
from headrace.telemetry.disk_space import await_space, is_disk_full
from headrace.telemetry.heartbeat import Heartbeat
from headrace.telemetry.logs import configure_logs

_log = logging.getLogger(__name__)
_PASSING = (BrokerUnavailable, LogUnavailable, MasterUnreachable, StoreUnavailable)
# The least that a start needs, with a margin.
_NEEDED_BYTES = 1 << 20
ROLES = ("http", "ingress", "api", "pipeline", "dispatcher")
EXIT_FAILED = 1
"""Something is unavailable at the moment; starting again may help."""

EXIT_REFUSED = 3
"""The role can't run as things are; starting it again would not help."""


def main(arguments: list[str]) -> int:
    """Run one role until it is told to stop."""
    name, config_file = arguments
    # These libraries log every step.
    configure_logs(f"%(asctime)s {name:<10} %(levelname)-7s %(message)s", quiet=("alembic", "py4j"))
    try:
        config: Config = read_snapshot(Path(config_file))
    except ConfigError as error:  # passing: the supervisor writes the file before each start
        _log.error("%s", error)
        return EXIT_FAILED
    keep_private(config.data)
    heart = Heartbeat(beat_path(Layout(config.data).run, name)).start()
    hold_on_to_starter()
    try:
        status, reason = _run(name, config)
    except BaseException as error:
        heart.end(first_line(error))
        raise
    heart.end(reason)
    return status


def _run(name: str, config: Config) -> tuple[int, str]:
    """Run the role; return the exit status, and why it ended."""
    try:
        spare_pandas()
        role = importlib.import_module(f"headrace.service.roles.{name}")
        spare_heap()
        with DatabaseGuard():
            role.run(config)
    except Exception as error:  # noqa: BLE001  it is logged, with its trace where nobody foresaw it
        return _end(name, config, _only(error))
    return 0, "it was told to stop"


def _only(error: Exception) -> Exception:
    """Reduce a group of errors to its only one, or to the first that says what to do."""
    while isinstance(error, ExceptionGroup):
        foreseen = [each for each in error.exceptions if isinstance(each, HeadraceError | ExceptionGroup)]
        if not foreseen and len(error.exceptions) > 1:
            return error
        error = (foreseen or error.exceptions)[0]
    return error


def _end(name: str, config: Config, error: Exception) -> tuple[int, str]:
    """Log why the role ends: expected errors in one line, unexpected ones with their traceback."""
    is_full = is_disk_full(error)
    if isinstance(error, HeadraceError):
        _log.error("%s", error)
    elif is_full:
        _log.error("%s", first_line(error))
    else:
        _log.critical("the role ends because of an unexpected error", exc_info=error)
    if is_full:
        _await_space(name, config)
    return EXIT_REFUSED if _is_final(error) and not is_full else EXIT_FAILED, first_line(error)


def _is_final(error: Exception) -> bool:
    """Tell whether a restart would fail in the same way until an operator intervenes."""
    if isinstance(error, DatabaseDamaged):
        return True
    return isinstance(error, HeadraceError) and not isinstance(error, _PASSING)


def _await_space(name: str, config: Config) -> None:
    """Wait until the disk has space, or until told to stop, instead of restarting on a full disk again and again."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    await_space(name, config.data, _NEEDED_BYTES, stop.wait)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
