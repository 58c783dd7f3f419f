"""Settings of the log and the outbox; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How the embedded log writes, and how long it keeps what was delivered."""

    segment_bytes: int
    max_pending_bytes: int
    retention_seconds: float
    retention_bytes: int
