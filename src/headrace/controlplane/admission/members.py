"""Objects with known members: what is unknown is refused by its path, for a member that is misspelt does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.documents.faults import Faults


def check_members(value: Mapping[str, Any], path: str, known: Iterable[str]) -> Faults:
    """Tell of every member that isn't known."""
    names = tuple(known)
    return [
        (f"{path}.{key}", f"unknown member; {path} has: {', '.join(names)}")
        for key in value
        if key not in names
    ]


def check_object(value: Any, path: str, known: Iterable[str]) -> Faults:
    """Tell whether it is no object, or has members that aren't known."""
    if not isinstance(value, dict):
        return [(path, f"has to be an object with any of: {', '.join(known)}")]
    return check_members(value, path, known)
