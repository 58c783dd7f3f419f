"""The functions that a filter may call, by name: CEL's standard library, `match`, and those of CESQL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.filters.values import conversions, patterns, times
from headrace.filters.values.cesql import functions as cesql_functions
from headrace.filters.values.faults import Fault
from headrace.filters.values.function import Function
from headrace.filters.values.kinds import Kind, kind_of, named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def call(name: str, arguments: Sequence[Any]) -> Any:
    """Return the value of a call. Arguments of the wrong type are a fault."""
    return FUNCTIONS[name].apply(*arguments)


def _size(value: Any) -> int:
    if kind_of(value) not in (Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP):
        raise Fault(f"{named(value)} has no size")
    return len(value)


def _of_strings(name: str, apply: Callable[[str, str], bool]) -> Function:
    def checked(text: Any, other: Any) -> bool:
        if not isinstance(text, str) or not isinstance(other, str):
            raise Fault(f"{name} takes strings, not {named(other if isinstance(text, str) else text)}")
        return apply(text, other)

    return Function(checked, member=True, arity=(2,))


def _of_times(name: str, by_kind: Mapping[Kind, Callable[..., int]]) -> Function:
    def checked(value: Any, zone: Any = "UTC") -> int:
        apply = by_kind.get(kind_of(value))
        if apply is None:
            raise Fault(f"{name} doesn't take {named(value)}")
        if kind_of(value) is Kind.DURATION:
            return apply(value)
        if not isinstance(zone, str):
            raise Fault(f"a time zone is a string, not {named(zone)}")
        return apply(value, zone)

    return Function(checked, member=True, arity=(1, 2))


FUNCTIONS: Mapping[str, Function] = {
    "size": Function(_size),
    "int": Function(conversions.to_int),
    "uint": Function(conversions.to_uint),
    "double": Function(conversions.to_double),
    "string": Function(conversions.to_string),
    "bytes": Function(conversions.to_bytes),
    "bool": Function(conversions.to_bool),
    "timestamp": Function(conversions.to_timestamp),
    "duration": Function(conversions.to_duration),
    "dyn": Function(lambda value: value),
    "type": Function(kind_of),
    "contains": _of_strings("contains", lambda text, other: other in text),
    "startsWith": _of_strings("startsWith", str.startswith),
    "endsWith": _of_strings("endsWith", str.endswith),
    "matches": _of_strings("matches", patterns.found),
    "match": replace(
        _of_strings("match", patterns.fits), takes=((Kind.STRING,), (Kind.STRING,)), returns=Kind.BOOL
    ),
    **{
        name: _of_times(name, {Kind.TIMESTAMP: times.of_moment(field)})
        for name, field in {
            "getFullYear": lambda moment: moment.year,
            "getMonth": lambda moment: moment.month - 1,
            "getDayOfMonth": lambda moment: moment.day - 1,
            "getDate": lambda moment: moment.day,
            "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
            "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
        }.items()
    },
    "getHours": _of_times(
        "getHours",
        {
            Kind.TIMESTAMP: times.of_moment(lambda moment: moment.hour),
            Kind.DURATION: times.of_span(3600 * times.SECOND),
        },
    ),
    "getMinutes": _of_times(
        "getMinutes",
        {
            Kind.TIMESTAMP: times.of_moment(lambda moment: moment.minute),
            Kind.DURATION: times.of_span(60 * times.SECOND),
        },
    ),
    "getSeconds": _of_times(
        "getSeconds",
        {
            Kind.TIMESTAMP: times.of_moment(lambda moment: moment.second),
            Kind.DURATION: times.of_span(times.SECOND),
        },
    ),
    "getMilliseconds": _of_times(
        "getMilliseconds",
        {Kind.TIMESTAMP: times.milliseconds_of_moment, Kind.DURATION: times.milliseconds_of_span},
    ),
    **cesql_functions.FUNCTIONS,
}
