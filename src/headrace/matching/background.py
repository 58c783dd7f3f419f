"""Work beside the matching that ends with the process.

Be careful: a thread that the interpreter's end finds inside a library written in C++ aborts the process. So whoever
works here asks between its steps whether the process is ending, and the end waits for the step under way.
"""

from __future__ import annotations

import atexit
import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_STEP = 30.0

_ending = threading.Event()
_threads: WeakSet[threading.Thread] = WeakSet()


def start(work: Callable[[], None], name: str) -> threading.Thread:
    """Do it in a thread of its own."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    _threads.add(thread)
    thread.start()
    return thread


def is_ending() -> bool:
    """Tell whether the process is ending: time to stop."""
    return _ending.is_set()


@atexit.register
def _end() -> None:
    _ending.set()
    for thread in list(_threads):
        thread.join(_LONGEST_STEP)
