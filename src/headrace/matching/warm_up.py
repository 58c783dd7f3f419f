"""Kernels are compiled when they are first called, which takes many seconds once per machine: call them early.

Whoever comes later finds them on disk and loads them in a fraction of a second. As a program (`python -m
headrace.matching.warm_up`) it does so for others, and takes the compiler's memory with it.
"""

from __future__ import annotations

from functools import cache

from headrace.events.batch import to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival
from headrace.filters import compile_filter
from headrace.matching.matcher import Matcher

_FILTERS = (
    'ce.region == "eu" && data.status == "open"',
    "data.amount > 5 && data.amount < 10.5",
    'data.text.contains("needle") && data.text.startsWith("a")',
    'data.text.contains("haystack")',
    '"red" in data.colours',
    'data.name >= "a" && data.name < "b"',
)


@cache
def warm_up() -> None:
    """Bring up every kernel, in this process and, where they can be kept, for those that come after it."""
    matcher = Matcher()
    matcher.add_many((text, compile_filter({"cel": text})) for text in _FILTERS)
    attributes = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "region": "eu"}
    matcher.settle_down()
    document = rb'{"status": "open", "text": "\u00e4"}'
    matcher.match_pairs(to_batch([Arrival(Event(attributes, document), "n", "c")], 0, 0))


if __name__ == "__main__":
    warm_up()
