"""What is seen of an object: its conditions, and what else its status has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.controlplane.conditions import Condition


@dataclass(frozen=True, slots=True)
class Seen:
    """`status` is what stands beside conditions and observedGeneration; `subscribers` belong to a channel's spec."""

    conditions: tuple[Condition, ...]
    status: dict[str, Any] = field(default_factory=dict)
    subscribers: tuple[dict[str, Any], ...] = ()
