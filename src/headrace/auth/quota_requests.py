"""Requests for the quotas of a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.forms import Form, Member, refuse
from headrace.documents.kinds import kind_of
from headrace.documents.schemas import Named
from headrace.documents.whole_numbers import whole_number
from headrace.subscriptions.quotas.quotas import MEMBERS, Overrides

if TYPE_CHECKING:
    from headrace.documents.faults import Faults
    from headrace.documents.kinds import Kind

_HIGHEST = 2**53
_FRACTIONAL = "eventsPerSecond"


def _limit(name: str) -> Kind:
    what = "number" if name == _FRACTIONAL else "whole number"

    def read(value: Any, path: str, faults: Faults) -> Any:
        number = value if name == _FRACTIONAL and type(value) is float else whole_number(value)
        if number is None or not 0 <= number <= _HIGHEST:
            faults.append((path, f"{value!r} is not a {what} from 0, which means no limit, to {_HIGHEST}"))
        return number

    type_ = "number" if name == _FRACTIONAL else "integer"
    return kind_of({"type": type_, "minimum": 0, "maximum": _HIGHEST}, read)


_LIMITS = {name: _limit(name) for name in MEMBERS}
QUOTAS = Named(
    "Quotas",
    {
        "type": "object",
        "description": "0 is no limit.",
        "properties": {name: kind.schema for name, kind in _LIMITS.items()},
    },
)
QUOTA_FORM = Form(
    "QuotaRequest",
    {name: Member(kind, takes_null=True) for name, kind in _LIMITS.items()},
    {"description": "What is left out, or null, has the default."},
)


def parse_overrides(document: object) -> Overrides:
    """Parse a document of quotas; InvalidRequest lists every fault with its path. Null means the default."""
    given, faults = QUOTA_FORM.read(document)
    refuse(faults)
    return Overrides(**{MEMBERS[name]: limit for name, limit in given.items()})
