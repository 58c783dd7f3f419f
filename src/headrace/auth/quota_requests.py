"""The quotas that a namespace is to have of its own, checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidRequest
from headrace.subscriptions.quotas import MEMBERS, Overrides

if TYPE_CHECKING:
    from headrace.subscriptions.faults import Faults

_HIGHEST = 2**53
_FRACTIONAL = "eventsPerSecond"


def parse_overrides(document: object) -> Overrides:
    """Check a document of quotas; InvalidRequest lists every fault with its path. A null is the same as nothing."""
    if not isinstance(document, dict):
        raise InvalidRequest([("", f"the body has to be a JSON object with any of: {', '.join(MEMBERS)}")])
    faults: Faults = [
        (str(name), f"unknown member; quotas are: {', '.join(MEMBERS)}")
        for name in document
        if name not in MEMBERS
    ]
    for name in MEMBERS:
        if name in document and not _is_limit(name, document[name]):
            what = "number" if name == _FRACTIONAL else "whole number"
            faults.append((name, f"{document[name]!r} is no {what} from 0, which is no limit, to {_HIGHEST}"))
    if faults:
        raise InvalidRequest(faults)
    return Overrides(**{MEMBERS[name]: value for name, value in document.items()})


def _is_limit(name: str, value: Any) -> bool:
    kinds = (int, float) if name == _FRACTIONAL else (int,)
    if value is None:
        return True
    return type(value) in kinds and math.isfinite(value) and 0 <= value <= _HIGHEST
