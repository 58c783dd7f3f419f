"""How many files and connections a process may have open: checked at the start, and room made for them.

Each process needs some files of its own, and one connection for each producer or each delivery under way, of which
there are no more than `delivery.max_queued`.
"""

from __future__ import annotations

import fcntl
import logging
import os
import resource
from typing import TYPE_CHECKING

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from headrace.config import Config

LEAST = 1_024
"""With fewer, Spark and the databases alone may not find enough."""

_OWN_FILES = 512  # connections to databases, segments of the log, jars
_PRODUCERS = 2_048  # connections that may wait to be taken
_MANY = 16_384
_log = logging.getLogger(__name__)


def needed(config: Config) -> int:
    """Return how many files a process may come to need: its own, and a connection for each delivery or producer."""
    return _OWN_FILES + max(_PRODUCERS, config.delivery.max_queued)


def allowed() -> int:
    """Return how many files this process may open if it asks for it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if most != resource.RLIM_INFINITY else 1 << 30


def check_descriptors(config: Config) -> None:
    """Let this process and its children open as many files as they may; ConfigError where that is too few to start."""
    wanted, may = needed(config), allowed()
    how = f"raise the limit before the start: ulimit -n {wanted} (systemd: LimitNOFILE={wanted})"
    if may < LEAST:
        raise ConfigError(f"a process may open {may} files here, and it takes at least {LEAST}; {how}")
    if may < wanted:
        _log.warning(
            "a process may open %d files, and by delivery.max_queued = %d it may need %d: connections can fail; %s",
            may, config.delivery.max_queued, wanted, how,
        )  # fmt: skip
    _raise_limit()


def make_room() -> None:
    """Let this process open as many files as it may, and have the table for many of them.

    When its table is full, the kernel lets the whole process wait for tens of milliseconds while it makes a larger
    one, as often as their number doubles. A crowd of sinks that hang would so hold up the others.
    """
    _raise_limit()
    last = min(_MANY, allowed()) - 1
    opened = os.open(os.devnull, os.O_RDONLY)
    try:
        os.close(fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, last))
    except OSError:  # the last one is taken: there is room already
        pass
    finally:
        os.close(opened)


def _raise_limit() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
