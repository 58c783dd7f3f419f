"""Settings of the log and the outbox; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

_Kind = Literal["local", "kafka"]
_Bytes = Annotated[int, Meta(ge=1)]
_Kept = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The kind of log; how the embedded one writes, and how long it keeps what was delivered."""

    kind: _Kind
    segment_bytes: _Bytes
    max_pending_bytes: _Bytes
    retention_seconds: _Seconds
    retention_bytes: _Kept
    accept_damage: bool = False
