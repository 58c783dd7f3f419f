"""Content-based routing of CloudEvents."""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.errors import FilterError, HeadraceError
    from headrace.events.event import Event
    from headrace.filters.compile import compile_filter
    from headrace.matching.matcher import Matcher

__all__ = ["Event", "FilterError", "HeadraceError", "Matcher", "compile_filter"]
__getattr__ = exported(
    __name__,
    {
        "Event": "headrace.events.event",
        "FilterError": "headrace.errors",
        "HeadraceError": "headrace.errors",
        "Matcher": "headrace.matching.matcher",
        "compile_filter": "headrace.filters.compile",
    },
)
