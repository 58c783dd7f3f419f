"""Settings of the HTTP doors; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Where to listen, and how much to take."""

    host: str
    port: int
    max_event_bytes: int
    max_batch_bytes: int
    max_inflight_bytes: int
    max_backlog_events: int
    shutdown_seconds: int
    metrics: bool
