"""The path of a refusal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def at(path: str) -> Iterator[None]:
    """Add the path to a `FilterError` that has none yet."""
    try:
        yield
    except FilterError as refusal:
        if refusal.path:
            raise
        raise FilterError(refusal.problem, path=path, value=refusal.value, limit=refusal.limit) from None
