"""The heap of processes that load much once and then handle events: collected less often, and without pandas."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_pauses = 0


class _WithoutPandas:
    """Finds no pandas, and leaves all other modules to others."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


@cache
def spare_pandas() -> None:
    """Let pyarrow do without pandas in this process; call it before pyarrow has made anything.

    At its first conversion from Python, pyarrow imports pandas only to recognise its objects: 40 MB and a second that
    nobody here has a use for. It asks once. Whoever imports pandas later gets it, but can't convert to or from it.
    """
    import pyarrow as pa  # the supervisor imports this module and never needs it

    sys.meta_path.insert(0, _WithoutPandas)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(_WithoutPandas)


def spare_heap() -> None:
    """Exempt loaded objects from garbage collection, and collect less often.

    Events are made of small objects that die without its help. And Spark's workers collect after every task:
    visiting all imported modules and the matcher would cost 10 ms each time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector while very many short-lived objects are made: it would visit all of them.

    Be careful: the objects have to be gone at the end, or they are visited then. For one thread.
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
