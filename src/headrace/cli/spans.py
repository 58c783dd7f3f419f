"""Spans of time as people write them: `90d`, `12h`, `30m`, `45s`."""

from __future__ import annotations

import re
from typing import Any

import click

_FORM = re.compile(r"([0-9]{1,9})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Span(click.ParamType[float]):
    """A span of time, as seconds."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, float):
            return value
        found = _FORM.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is no span of time; write 90d, 12h, 30m or 45s", param, ctx)
        return float(int(found[1]) * _SECONDS[found[2]])


SPAN = Span()
