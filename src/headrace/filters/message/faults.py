"""How what was refused is shown: short, and without failing on it a second time."""

from __future__ import annotations

import reprlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Repr(reprlib.Repr):
    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write integers of some thousand digits.
        return "a very large integer" if value.bit_length() > 128 else super().repr_int(value, level)


def shown(value: object) -> str:
    """Return a few characters of the value, whatever it is."""
    return _REPR.repr(value)


_REPR = _Repr()


@contextmanager
def at(path: str) -> Iterator[None]:
    """Add the path to a refusal that has none yet."""
    try:
        yield
    except FilterError as refusal:
        if refusal.path:
            raise
        raise FilterError(refusal.problem, path=path, value=refusal.value, limit=refusal.limit) from None
