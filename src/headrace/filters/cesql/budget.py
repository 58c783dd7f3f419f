"""The budget of an expression on one event, in characters of attributes that it reads, with repetitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.cesql.syntax import Attribute, Call, Like, children
from headrace.filters.values.budget import LONGEST_SCANNED
from headrace.filters.values.like import ONE, segments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.cesql.syntax import Node


def readings_of(root: Node) -> dict[str, int]:
    """Return how often each attribute's text is read at most: once per function and pattern around it."""
    readings: dict[str, int] = {}
    waiting = [(root, 1)]
    while waiting:
        node, times = waiting.pop()
        if isinstance(node, Attribute):
            readings[node.name] = readings.get(node.name, 0) + times
        inside = times + _readings(node)
        waiting += [(child, inside) for child in children(node)]
    return readings


def _readings(node: Node) -> int:
    match node:
        case Call():
            return 1
        case Like(_, pattern):
            # A segment with a wildcard is tried at every position of the text.
            return 1 + sum(
                len(segment.characters) for segment in segments_of(pattern) if ONE in segment.characters
            )
        case _:
            return 0


def is_affordable(readings: Mapping[str, int], attributes: Mapping[str, object]) -> bool:
    """Return whether an event with these attributes is within the budget of a clause."""
    characters = 0
    for name, times in readings.items():
        value = attributes.get(name)
        if isinstance(value, str):
            characters += times * len(value)
    return characters <= LONGEST_SCANNED
