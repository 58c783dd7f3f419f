"""How a subscription's events are delivered: Knative's delivery object, and what Headrace adds to it.

The object stands in `config.delivery` of a subscription and in `delivery` of a channel. A subscription's replaces its
channel's whole: nothing of the channel's is left where the subscription has one. What the object in force leaves open
has the service's defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.documents.schemas import Named
from headrace.subscriptions.delivery.members import MEMBERS, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults

BATCHED = "batched"
DELIVERY = Named(
    "Delivery",
    {
        "type": "object",
        "description": "How events are delivered; what is left open has the service's defaults.",
        "properties": {name: member.schema for name, member in MEMBERS.items()},
        "additionalProperties": False,
        "allOf": [
            {
                "if": {"properties": {"ordering": {"const": "ordered"}}, "required": ["ordering"]},
                "then": {"properties": {"concurrency": {"maximum": 1}}},
            },
            {
                "if": {"properties": {"format": {"const": "binary"}}, "required": ["format"]},
                "then": {"properties": {"batch": {"properties": {"size": {"maximum": 1}}}}},
            },
        ],
    },
)
"""What `check_delivery` takes, as JSON Schema."""
_STRUCTURED = "json"
# Events in a batch where the content mode asks for batches and nobody says how large.
_BATCH = 100


class Ordering(Enum):
    """What is delivered in the order of the log: nothing, everything, or what has the same `partitionkey`."""

    UNORDERED = "unordered"
    ORDERED = "ordered"
    PARTITIONKEY = "partitionkey"


class BackoffPolicy(Enum):
    """How waits grow from one repetition to the next."""

    LINEAR = "linear"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class DeliverySpec:
    """All times are in seconds; what a subscription or its channel leaves open has the service's defaults.

    `retry_after_max` of None ignores a sink's Retry-After. `batch_size` and `format` (`binary` or `json`) are
    None where the protocol's own settings say it.
    """

    retry: int
    backoff_policy: BackoffPolicy
    backoff_delay: float
    timeout: float
    retry_after_max: float | None
    dead_letter_sink: str | None
    ordering: Ordering
    concurrency: int
    rate: float | None
    batch_size: int | None
    batch_age: float
    format: str | None = None

    def settings(self, protocol: str, of_protocol: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a protocol's settings with the content mode that is asked for here; only HTTP has batches."""
        if protocol == "HTTP" and (self.batch_size or 1) > 1:
            return {**of_protocol, "mode": BATCHED}
        if self.format is None:
            return of_protocol
        return {**of_protocol, "mode": "structured" if self.format == _STRUCTURED else "binary"}

    def batch(self, mode: str) -> int:
        """Return how many events a request has at most."""
        return (self.batch_size or _BATCH) if mode == BATCHED else 1


def check_delivery(document: object, path: str) -> Faults:
    """Tell everything that is wrong with a delivery object, each fault with its path."""
    if not isinstance(document, dict):
        return [(path, f"has to be an object with any of: {', '.join(MEMBERS)}")]
    faults: Faults = [
        (f"{path}.{key}", f"unknown member; a delivery object has: {', '.join(MEMBERS)}")
        for key in document
        if key not in MEMBERS
    ]
    given: dict[str, Any] = {}
    for name, value in document.items():
        if name in MEMBERS:
            try:
                given |= MEMBERS[name](value)
            except Refused as refused:
                faults.append((f"{path}.{name}{refused.inner}", refused.problem))
    return faults + [(f"{path}.{name}", problem) for name, problem in _contradictions(given)]


def _contradictions(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    if given.get("ordering") == Ordering.ORDERED.value and given.get("concurrency", 1) > 1:
        found.append(("concurrency", "what is ordered goes out one at a time; leave it out, or give 1"))
    if given.get("format") == "binary" and given.get("batch_size", 1) > 1:
        found.append(("batch", "a batch is JSON, and format asks for binary; give one of the two"))
    return found


def resolve(
    own: Mapping[str, Any] | None, of_channel: Mapping[str, Any] | None, defaults: DeliverySpec
) -> DeliverySpec:
    """Return how a subscription is delivered: by its own object, else by its channel's, the rest by the defaults.

    Both were checked when they were given. A member that this version can't read has the default.
    """
    in_force = own if own is not None else of_channel or {}
    given: dict[str, Any] = {}
    for name, value in in_force.items():
        try:
            given |= MEMBERS[name](value)
        except (KeyError, Refused):
            continue
    for field, kind in (("ordering", Ordering), ("backoff_policy", BackoffPolicy)):
        if field in given:
            given[field] = kind(given[field])
    return replace(defaults, **given)
