"""Compiled filters as bytes, kept with what they were compiled from, so that nobody has to compile it again.

The law: what is read back is what `compile_filter` returns. So the bytes begin with the version of the compiled form, a
digest of the filters as they were written, and one of what follows; where any of them is another one, the filters are
compiled anew.
"""

from __future__ import annotations

import io
import pickle
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.filters.compile import compile_filter
from headrace.filters.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGEST = 16
VERSION = 1
"""To be raised whenever some filter is compiled to another tree, limits are tightened, or a node changes its fields."""


def digest_of(filters: Sequence[Any]) -> bytes:
    """Return what stands for filters as they are written."""
    return _digest(msgspec.json.encode(filters))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def compile_to_bytes(filters: Sequence[Any]) -> bytes:
    """Compile filters that must all match; raises FilterError as `compile_filter` does."""
    compiled = compile_filter(list(filters))
    parts = (compiled.expression, compiled.notes, compiled.written)
    pickled = pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)
    return _head(filters) + _digest(pickled) + pickled


def read_compiled(filters: Sequence[Any], kept: bytes | None) -> Filter:
    """Return the compiled filter: from what was kept, if that can be used."""
    head = _head(filters)
    if kept is not None and kept.startswith(head):
        digest, pickled = kept[len(head) :][:_DIGEST], kept[len(head) + _DIGEST :]
        if digest == _digest(pickled):
            try:
                return Filter(*load_tree(pickled))
            except Exception:  # noqa: BLE001, S110  of a version that forgot to say so
                pass
    return compile_filter(list(filters))


def load_tree(pickled: bytes) -> Any:
    """Read the nodes of filters and plain values; UnpicklingError for anything else."""
    return _Unpickler(io.BytesIO(pickled)).load()


def _head(filters: Sequence[Any]) -> bytes:
    return VERSION.to_bytes(2) + digest_of(filters)


class _Unpickler(pickle.Unpickler):
    """Makes nothing but what a module of filters defines as a class."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith("headrace.filters.") else None
        if not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a filter")
        return found
