"""The garbage collector, in processes that load much once and then handle events."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_pauses = 0


def spare_heap() -> None:
    """Take what is loaded out of the collector's sight, and let it look less often.

    Events are made of small objects that die without its help. And Spark's workers collect after every task:
    visiting all imported modules and the matcher would cost 10 ms each time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Let the collector rest while very many objects are made that live for a short while: it would visit all of them.

    Be careful: what was made has to be gone at the end, or it is visited then. For one thread.
    """
    global _pauses  # noqa: PLW0603  the collector is one for the whole process
    _pauses += 1
    gc.disable()
    try:
        yield
    finally:
        _pauses -= 1
        if not _pauses:
            gc.enable()
