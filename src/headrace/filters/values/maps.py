"""Lists and maps: what stands at a key or an index, what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import NUMBERS, Entries, Kind, kind_of, named

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY_KINDS = frozenset({Kind.BOOL, Kind.INT, Kind.UINT, Kind.STRING})


def pairs_of(holder: Any) -> Iterable[tuple[Any, Any]]:
    """Return a map's keys with their values."""
    return holder.by_key.values() if isinstance(holder, Entries) else holder.items()


def keys_of(holder: Any) -> Iterable[Any]:
    """Return a map's keys, one by one: whoever stops early has not paid for all of them."""
    return (key for key, _ in holder.by_key.values()) if isinstance(holder, Entries) else iter(holder)


def entries(pairs: Iterable[tuple[Any, Any]]) -> Entries:
    """Make a map; a key twice, or one that is neither string nor integer nor boolean, is a fault."""
    made: dict[tuple[Kind, Any], tuple[Any, Any]] = {}
    for key, value in pairs:
        kind = kind_of(key)
        if kind not in _KEY_KINDS:
            raise Fault(f"{named(key)} can't be the key of a map")
        if (kind, key) in made:
            raise Fault(f"the key {key!r} stands twice in a map")
        made[kind, key] = (key, value)
    return Entries(made)


def find(holder: Any, key: Any) -> Any:
    """Return `holder[key]` of a list or a map."""
    match kind_of(holder):
        case Kind.LIST:
            return _element(holder, key)
        case Kind.MAP:
            return _entry(holder, key)
        case _:
            raise Fault(f"{named(holder)} has no elements")


def is_in(value: Any, holder: Any) -> bool:
    """Say whether a map has this key. (Membership in lists needs equality, which is built on this.)"""
    if kind_of(value) not in _KEY_KINDS | {Kind.DOUBLE}:
        raise Fault(f"{named(value)} can't be the key of a map")
    try:
        _entry(holder, value)
    except Fault:
        return False
    return True


def _element(elements: Any, index: Any) -> Any:
    position = _integer(index) if kind_of(index) in NUMBERS else None
    if position is None:
        raise Fault(f"{named(index)} is no index of a list")
    if not 0 <= position < len(elements):
        raise Fault(f"a list of {len(elements)} has no element {position}")
    return elements[position]


def _entry(holder: Any, key: Any) -> Any:
    kind = kind_of(key)
    if isinstance(holder, Mapping):
        if kind is Kind.STRING and key in holder:
            return holder[key]
        raise Fault(f"the key {key!r} is missing")
    for wanted in _spellings(key, kind):
        if (wanted, key) in holder.by_key:
            return holder.by_key[wanted, key][1]
    raise Fault(f"the key {key!r} is missing")


def _spellings(key: Any, kind: Kind) -> tuple[Kind, ...]:
    """Return the types of key to look for: a number finds the equal number of another type, a list or a map none."""
    if kind in NUMBERS:
        return () if _integer(key) is None else (kind, Kind.INT, Kind.UINT)
    return (kind,) if kind in _KEY_KINDS else ()


def _integer(number: float) -> int | None:
    """Return the integer that a number is; a fraction is none."""
    if isinstance(number, float) and not number.is_integer():
        return None
    return int(number)
