"""Room for many connections, made before there are any.

When its table of descriptors is full, the kernel lets the whole process wait for tens of milliseconds while it makes
a larger one, as often as their number doubles. A crowd of sinks that hang would so hold up the others.
"""

from __future__ import annotations

import fcntl
import os
import resource

_MANY = 16_384


def make_room() -> None:
    """Let this process open as many files as it may, and have the table for many of them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    last = _MANY - 1 if most == resource.RLIM_INFINITY else min(_MANY, most) - 1
    opened = os.open(os.devnull, os.O_RDONLY)
    try:
        os.close(fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, last))
    except OSError:  # the last one is taken: there is room already
        pass
    finally:
        os.close(opened)
