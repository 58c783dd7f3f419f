"""The types of CEL's values, as Python objects.

null is None, or a `CesqlError`; bool, double, string and bytes are Python's own; int is `int` and uint is `Uint`. A
list is any sequence except strings and bytes, a map is a mapping with string keys or `Entries`, and a type is a `Kind`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType, NoneType
from typing import Any

from headrace.filters.ir.literals import Uint
from headrace.filters.values.cesql.errors import CesqlError
from headrace.filters.values.faults import Fault

INT64 = range(-(2**63), 2**63)
UINT64 = range(2**64)


class Kind(Enum):
    """A type, by its name in CEL."""

    NULL = "null_type"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    LIST = "list"
    MAP = "map"
    TIMESTAMP = "google.protobuf.Timestamp"
    DURATION = "google.protobuf.Duration"
    TYPE = "type"

    # Equal members are identical. The hash of an Enum is computed in Python, which is slow.
    __hash__ = object.__hash__


NUMBERS = frozenset({Kind.INT, Kind.UINT, Kind.DOUBLE})


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment, in nanoseconds since the epoch; between the years 1 and 9999."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time in nanoseconds."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Entries:
    """A map with keys of any types, as a map literal in a filter may have."""

    by_key: dict[tuple[Kind, Any], tuple[Any, Any]]
    """The key and its value, by type and key: in Python `1 == True`."""

    def __len__(self) -> int:
        return len(self.by_key)


_KINDS: dict[type, Kind] = {
    NoneType: Kind.NULL,
    CesqlError: Kind.NULL,
    bool: Kind.BOOL,
    int: Kind.INT,
    Uint: Kind.UINT,
    float: Kind.DOUBLE,
    str: Kind.STRING,
    bytes: Kind.BYTES,
    list: Kind.LIST,
    tuple: Kind.LIST,
    dict: Kind.MAP,
    MappingProxyType: Kind.MAP,
    Entries: Kind.MAP,
    Timestamp: Kind.TIMESTAMP,
    Duration: Kind.DURATION,
    Kind: Kind.TYPE,
}
_ABSTRACT_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOL),
    (Uint, Kind.UINT),
    (int, Kind.INT),
    (float, Kind.DOUBLE),
    (str, Kind.STRING),
    (bytes, Kind.BYTES),
    (Mapping, Kind.MAP),
    (Sequence, Kind.LIST),
)


def kind_of(value: object) -> Kind:
    """Return the type of a value."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    for base, kind in _ABSTRACT_KINDS:
        if isinstance(value, base):
            return kind
    raise Fault(f"{type(value).__name__} is not a type of filter values")


def named(value: object) -> str:
    """Return the type of a value with its article, for messages."""
    kind = kind_of(value)
    if kind is Kind.NULL:
        return "null"
    word = kind.value.rpartition(".")[2].lower()
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
