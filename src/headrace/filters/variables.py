"""The variables of a filter.

| variable | value | unknown if |
|---|---|---|
| `ce` | the map of attributes and extensions | never |
| `data` | the data, parsed, if its content type is JSON or not stated | it is absent, not JSON, malformed, too deep |
| `collection`, `tenant` | the channel's name and its namespace | the event is in no log yet |
| `publishTime` | when the log took the event, in milliseconds since the epoch | the event is in no log yet |
| `eventTime` | `ce.time` in milliseconds since the epoch | there is none |

The name `type` is read as `ce.type`. Data is too deep above 100 levels of arrays and objects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import msgspec

from headrace.events.json_data import bytes_meant
from headrace.events.media_types import is_json
from headrace.events.recorded import Recorded
from headrace.filters.values.documents import in_64_bits, read_json
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import INT64
from headrace.filters.values.times import read_timestamp

if TYPE_CHECKING:
    from headrace.events.event import Event

Variables: TypeAlias = "Mapping[str, object]"

NAMES = ("ce", "data", "collection", "tenant", "publishTime", "eventTime")

_MISSING = object()
_DEEPEST = 100


def variables_of(event: Event | Recorded) -> Variables:
    """Return the variables of an event, each of them computed when first used."""
    return EventVariables(event)


def attributes_of(variables: Variables) -> Mapping[str, object]:
    """Return the attributes and extensions among the variables, for clauses that read nothing else."""
    attributes = variables.get("ce")
    return attributes if isinstance(attributes, Mapping) else {}


class EventVariables(Mapping[str, Any]):
    """The variables of one event, without those that are unknown. Not thread-safe."""

    __slots__ = ("_bound", "_event", "_recorded")

    def __init__(self, event: Event | Recorded) -> None:
        self._recorded = event if isinstance(event, Recorded) else None
        self._event = event.event if isinstance(event, Recorded) else event
        self._bound: dict[str, Any] = {"ce": _attributes(self._event)}

    def __getitem__(self, name: str) -> Any:
        value = self._value(name)
        if value is _MISSING:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._value(name) is not _MISSING

    def __iter__(self) -> Iterator[str]:
        return (name for name in NAMES if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _value(self, name: str) -> Any:
        if name not in self._bound:
            read = _READERS.get(name)
            self._bound[name] = _MISSING if read is None else read(self._event, self._recorded)
        return self._bound[name]


def _attributes(event: Event) -> Mapping[str, Any]:
    for value in event.attributes.values():
        # Only extensions of CloudEvents 0.3 have other values, or integers of more than 32 bits.
        if type(value) is not str and type(value) is not bool and not (type(value) is int and value in INT64):
            plain: Mapping[str, Any] = in_64_bits(event.attributes)
            return plain
    return event.attributes


def _data(event: Event, _: Recorded | None) -> Any:
    if event.data is None or not _is_json(event):
        return _MISSING
    meant = bytes_meant(event)
    data = event.data if meant is None else meant
    try:
        value = _parse(data)
    except (ValueError, RecursionError):
        return _MISSING
    may_be_deep = data.count(b"[") + data.count(b"{") > _DEEPEST
    return _MISSING if may_be_deep and _is_too_deep(value) else value


def _is_json(event: Event) -> bool:
    # CloudEvents: data without a content type is application/json, at least in the JSON format.
    media_type = event.datacontenttype
    return media_type is None or (isinstance(media_type, str) and is_json(media_type))


def _parse(data: bytes) -> Any:
    try:
        return read_json(data)
    except msgspec.ValidationError:
        # A number beyond the range of doubles is valid JSON: in CEL it is infinite.
        value = json.loads(data.decode(), parse_constant=_refuse)
        msgspec.json.encode(value)
        return in_64_bits(value)


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST + 1):
        level = [
            inner
            for each in level
            if isinstance(each, list | dict)
            for inner in (each if isinstance(each, list) else each.values())
        ]
    return bool(level)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _event_time(event: Event, _: Recorded | None) -> Any:
    time = event.time
    if not isinstance(time, str):
        return _MISSING
    try:
        return read_timestamp(time).nanoseconds // 10**6
    except Fault:
        return _MISSING


_READERS: Mapping[str, Callable[[Event, Recorded | None], Any]] = {
    "data": _data,
    "eventTime": _event_time,
    "collection": lambda _, recorded: _MISSING if recorded is None else recorded.arrival.channel,
    "tenant": lambda _, recorded: _MISSING if recorded is None else recorded.arrival.namespace,
    "publishTime": lambda _, recorded: _MISSING if recorded is None else recorded.publish_time // 1000,
}
