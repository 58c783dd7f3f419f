"""Limits on open files and connections: checked and raised at the start.

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
"""With fewer, there may not even be enough for Spark and the databases."""

_OWN_FILES = 512  # connections to databases, segments of the log, jars
_PRODUCERS = 2_048  # connections that may wait to be taken
_MANY = 16_384
_log = logging.getLogger(__name__)


def needed(config: Config) -> int:
    """Return how many files a process may need: its own, and a connection for each delivery or producer."""
    return _OWN_FILES + max(_PRODUCERS, config.delivery.max_queued)


def allowed() -> int:
    """Return how many files this process may open if it asks for it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if most != resource.RLIM_INFINITY else 1 << 30


def check_descriptors(config: Config) -> None:
    """Raise the limit on open files for this process and its children; ConfigError if it is too low to start."""
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


def grow_descriptor_table() -> None:
    """Raise the limit on open files, and have the kernel allocate a large descriptor table now.

    Whenever the table is full, the kernel stops the whole process for tens of milliseconds while it doubles the
    table. Otherwise many hanging sinks would thus delay deliveries to all others.
    """
    _raise_limit()
    last = min(_MANY, allowed()) - 1
    opened = os.open(os.devnull, os.O_RDONLY)
    try:
        os.close(fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, last))
    except OSError:  # the last one is taken: the table is large enough
        pass
    finally:
        os.close(opened)


def _raise_limit() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
