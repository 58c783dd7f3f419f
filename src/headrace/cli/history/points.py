"""Points in the history as a person types them."""

from __future__ import annotations

import re
import time
from typing import Any

import click
import msgspec

from headrace.events.timestamps import is_timestamp

_AGO = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MEMBERS = {"position", "time", "eventTime", "filter"}
_FORMS = 'earliest, latest, a position (17), a time (2026-01-31T12:00:00Z), so long ago (2h), or JSON ({"cel": "…"})'


class _Moment(click.ParamType[int]):
    """A time, or so long ago; milliseconds since the epoch or the text itself."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = moment(value) if isinstance(value, str) else value
        if found is None:
            self.fail(
                f"{value!r} is no time; write 2026-01-31T12:00:00Z, or 2h for two hours ago", param, ctx
            )
        return found


class _Point(click.ParamType[Any]):
    """Any point of the history; the value is the API's form of it."""

    name = "point"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value in ("earliest", "latest"):
            return value
        if value.isdecimal():
            return {"position": int(value)}
        if (when := moment(value)) is not None:
            return {"time": when}
        document = _json(value)
        if not isinstance(document, dict):
            self.fail(f"{value!r} is no point of the history; write {_FORMS}", param, ctx)
        return document if document.keys() <= _MEMBERS else {"filter": document}


MOMENT = _Moment()
POINT = _Point()


def moment(text: str) -> str | int | None:
    """Read a time or a span before now; None where it is neither."""
    if is_timestamp(text):
        return text
    ago = _AGO.fullmatch(text)
    return None if ago is None else int((time.time() - float(ago[1]) * _SECONDS[ago[2]]) * 1000)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
