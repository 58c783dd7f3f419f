"""How kernels are compiled, and where what was compiled is kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit

from headrace.matching.machine.bounds import CHECKED

_F = TypeVar("_F", bound=Callable[..., Any])

_njit: Any = partial(njit, nogil=True, boundscheck=CHECKED, error_model="numpy")
_part: Any = partial(_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled(function: _F) -> _F:
    """Compile what kernels call; it can't be called from Python."""
    # Numba hands the choice down from a caller to what it calls, and copies of everything take minutes to compile.
    made: _F = _part(forceinline=False)(function)
    return made


def inlined(function: _F) -> _F:
    """Compile what kernels call so often that a call would cost more than the work; it is copied to every caller."""
    made: _F = _part(forceinline=not CHECKED)(function)
    return made


def kernel(function: _F) -> _F:
    """Compile when first called, keep the result on disk where that is possible, and run without the GIL."""
    try:
        made: _F = _njit(cache=True)(function)
    except RuntimeError:  # no folder can be written
        made = _njit()(function)
    return made


def _cache_folder() -> Path:
    """Name a folder after everything that kernels are made of.

    Numba looks at a kernel's own file alone, and would go on with one that calls what was changed elsewhere.
    """
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "headrace" / "kernels" / (digest[:16] + ("-checked" if CHECKED else ""))


if not getattr(config, "CACHE_DIR", ""):
    with suppress(OSError, RuntimeError):  # who has no home keeps nothing
        config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]
