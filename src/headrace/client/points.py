"""Points in the history: a position, a time, an expression, or the API's own form."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from headrace.filters.message import And, Expr, Not, Or, Predicate, to_json

PointLike: TypeAlias = int | datetime | str | Mapping[str, Any] | Expr


def point(value: PointLike) -> Any:
    """Return a point as the API takes it.

    An integer is a position, a datetime (with time zone) the time of acceptance, an expression of the builder the first
    event that it matches. "earliest", "latest" and objects stay as they are.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone; add one, as in datetime.now(UTC)")
        return {"time": value.isoformat()}
    if isinstance(value, int):
        return {"position": value}
    if isinstance(value, And | Or | Not | Predicate):
        return {"filter": {"message": to_json(value)}}
    return value
