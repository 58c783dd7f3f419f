"""Lists and maps: lookup and membership."""

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
    """Return a map's keys lazily, so that stopping early saves the rest."""
    return (key for key, _ in holder.by_key.values()) if isinstance(holder, Entries) else iter(holder)


def entries(pairs: Iterable[tuple[Any, Any]]) -> Entries:
    """Make a map. A repeated key, or one that isn't a string, integer or boolean, is a fault."""
    made: dict[tuple[Kind, Any], tuple[Any, Any]] = {}
    for key, value in pairs:
        kind = kind_of(key)
        if kind not in _KEY_KINDS:
            raise Fault(f"{named(key)} can't be the key of a map")
        if (kind, key) in made:
            raise Fault(f"the key {key!r} is repeated in the map")
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
    """Return whether a map has this key. For lists see `equality.is_element`."""
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
        raise Fault(f"{named(index)} can't be the index of a list")
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
    """Return the types of keys to look for: a number finds an equal number of any type; lists and maps find nothing."""
    if kind in NUMBERS:
        return () if _integer(key) is None else (kind, Kind.INT, Kind.UINT)
    return (kind,) if kind in _KEY_KINDS else ()


def _integer(number: float) -> int | None:
    """Return the number as an integer; None if it has a fraction."""
    if isinstance(number, float) and not number.is_integer():
        return None
    return int(number)
