"""Kinds of values in requests about subscriptions and their history: times, points, filters, channels and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.filter_schemas import FILTER_OR_FILTERS
from headrace.documents.kinds import Kind, kind_of
from headrace.errors import InvalidChannel
from headrace.subscriptions.channels.name import CHANNEL_NAME, parse_channel
from headrace.subscriptions.delivery.members import HIGHEST_RATE, RATE, is_rate
from headrace.subscriptions.points import POINT, TIME, check_filter, parse_point, parse_time

if TYPE_CHECKING:
    from headrace.documents.faults import Faults
    from headrace.documents.kinds import Problems
    from headrace.subscriptions.channels.name import ChannelName


def _check_filter(value: Any) -> Problems:
    faults: Faults = []
    check_filter(value, "", faults)
    yield from faults


def _channel(value: Any, path: str, faults: Faults) -> ChannelName | None:
    try:
        return parse_channel(value)
    except InvalidChannel as error:
        faults.append((path, str(error)))
        return None


A_TIME = kind_of(TIME, parse_time)
A_POINT = kind_of(POINT, parse_point)
A_FILTER = Kind(FILTER_OR_FILTERS, _check_filter)
A_CHANNEL = kind_of(CHANNEL_NAME, _channel)


def a_rate(what: str) -> Kind:
    """Take so many things a second."""

    def read(value: Any, path: str, faults: Faults) -> float | None:
        if not is_rate(value):
            faults.append(
                (path, f"{value!r} is no number of {what} a second above 0 and up to {HIGHEST_RATE}")
            )
            return None
        return float(value)

    return kind_of(RATE, read)
