"""Settings of the pipeline; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """How Spark runs and how much it takes at a time."""

    master: str
    driver_memory: str
    max_events_per_batch: int
    min_events_per_task: int
    poll_seconds: float
    tick_seconds: float
    restart_seconds: float
