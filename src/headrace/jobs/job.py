"""A job: what was asked for, how far it got, and what came of it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.database.work_queue import State
from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Job:
    """`progress` goes from 0 to 1 and `note` says it in words; `memory` is what the work goes on from after a crash."""

    kind: str
    request: Mapping[str, Any]
    subscription: str | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    state: State = State.WAITING
    progress: float = 0.0
    note: str = ""
    result: Mapping[str, Any] | None = None
    error: str | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    asked: str = field(default_factory=timestamp)
    ended: str | None = None
    namespace: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the job as the API shows it: without its memory, and without what there isn't."""
        shown = {
            "id": self.id,
            "kind": self.kind,
            "subscription": self.subscription,
            "request": dict(self.request),
            "state": self.state,
            "progress": self.progress,
            "note": self.note or None,
            "result": None if self.result is None else dict(self.result),
            "error": self.error,
            "asked": self.asked,
            "ended": self.ended,
        }
        return {name: value for name, value in shown.items() if value is not None}
