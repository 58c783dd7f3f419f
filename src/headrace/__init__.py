"""Content-based routing of CloudEvents."""

from headrace.errors import FilterError, HeadraceError
from headrace.events import Event
from headrace.filters import compile_filter
from headrace.matching import Matcher

__all__ = ["Event", "FilterError", "HeadraceError", "Matcher", "compile_filter"]
