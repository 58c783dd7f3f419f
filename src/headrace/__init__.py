"""Content-based routing of CloudEvents."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.errors import FilterError, HeadraceError
from headrace.events import Event
from headrace.filters import compile_filter

if TYPE_CHECKING:
    from headrace.matching import Matcher

__all__ = ["Event", "FilterError", "HeadraceError", "Matcher", "compile_filter"]


def __getattr__(name: str) -> Any:
    """Load the matcher, and the compiler of its kernels, where it is asked for: sources and commands do without."""
    if name == "Matcher":
        return import_module("headrace.matching").Matcher
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
