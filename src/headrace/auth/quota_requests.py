"""Requests for the quotas of a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.schemas import Named, nullable, record
from headrace.documents.whole_numbers import whole_number
from headrace.errors import InvalidRequest
from headrace.subscriptions.quotas.quotas import MEMBERS, Overrides

if TYPE_CHECKING:
    from headrace.documents.faults import Faults

_HIGHEST = 2**53
_FRACTIONAL = "eventsPerSecond"
_LIMITS = {
    name: {"type": "number" if name == _FRACTIONAL else "integer", "minimum": 0, "maximum": _HIGHEST}
    for name in MEMBERS
}
QUOTAS = Named("Quotas", {"type": "object", "description": "0 is no limit.", "properties": _LIMITS})
QUOTA_REQUEST = Named(
    "QuotaRequest",
    record(
        {name: nullable(limit) for name, limit in _LIMITS.items()},
        description="What is left out, or null, has the default.",
    ),
)


def parse_overrides(document: object) -> Overrides:
    """Parse a document of quotas; InvalidRequest lists every fault with its path. Null means the default."""
    if not isinstance(document, dict):
        raise InvalidRequest([("", f"the body has to be a JSON object with any of: {', '.join(MEMBERS)}")])
    faults: Faults = [
        (str(name), f"unknown member; quotas are: {', '.join(MEMBERS)}")
        for name in document
        if name not in MEMBERS
    ]
    limits = {name: _limit(name, document[name], faults) for name in MEMBERS if name in document}
    if faults:
        raise InvalidRequest(faults)
    return Overrides(**{MEMBERS[name]: limit for name, limit in limits.items()})


def _limit(name: str, value: Any, faults: Faults) -> Any:
    is_fraction = name == _FRACTIONAL and type(value) is float
    number = value if is_fraction else whole_number(value)
    if value is not None and (number is None or not 0 <= number <= _HIGHEST):
        what = "number" if name == _FRACTIONAL else "whole number"
        faults.append((name, f"{value!r} is not a {what} from 0, which means no limit, to {_HIGHEST}"))
    return number
