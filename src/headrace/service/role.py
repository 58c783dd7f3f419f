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
from headrace.telemetry.heartbeat import Heartbeat
from headrace.telemetry.logs import configure_logs
from headrace.telemetry.room import await_room, lacks_room

_log = logging.getLogger(__name__)
_PASSING = (BrokerUnavailable, LogUnavailable, MasterUnreachable, StoreUnavailable)
# What a start needs at least, with some room to spare.
_NEEDED_BYTES = 1 << 20
ROLES = ("http", "ingress", "api", "pipeline", "dispatcher")
EXIT_FAILED = 1
"""Something is not there at the moment; starting again may help."""

EXIT_REFUSED = 3
"""The role can't run as things are, and starting it again would change nothing."""


def main(arguments: list[str]) -> int:
    """Run one role until it is told to stop."""
    name, config_file = arguments
    # They tell of every step they take.
    configure_logs(f"%(asctime)s {name:<10} %(levelname)-7s %(message)s", quiet=("alembic", "py4j"))
    config: Config = read_snapshot(Path(config_file))
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
    """Return what a group of errors comes down to, where that is one error or one that says what to do."""
    while isinstance(error, ExceptionGroup):
        foreseen = [each for each in error.exceptions if isinstance(each, HeadraceError | ExceptionGroup)]
        if not foreseen and len(error.exceptions) > 1:
            return error
        error = (foreseen or error.exceptions)[0]
    return error


def _end(name: str, config: Config, error: Exception) -> tuple[int, str]:
    """Log why the role ends: in a line what was foreseen, with its trace what wasn't."""
    is_full = lacks_room(error)
    if isinstance(error, HeadraceError):
        _log.error("%s", error)
    elif is_full:
        _log.error("%s", first_line(error))
    else:
        _log.critical("the role ends by an error that nobody foresaw", exc_info=error)
    if is_full:
        _await_room(name, config)
    return EXIT_REFUSED if _is_final(error) and not is_full else EXIT_FAILED, first_line(error)


def _is_final(error: Exception) -> bool:
    """Tell whether starting again would end the same way, until an operator has done something."""
    if isinstance(error, DatabaseDamaged):
        return True
    return isinstance(error, HeadraceError) and not isinstance(error, _PASSING)


def _await_room(name: str, config: Config) -> None:
    """Don't start again and again on a full disk: wait here until there is room, or the process is told to stop."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    await_room(name, config.data, _NEEDED_BYTES, stop.wait)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
