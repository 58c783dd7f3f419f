"""Settings of the pipeline; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

_AtLeastOne = Annotated[int, Meta(ge=1)]
_Interval = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """How Spark runs and how much it takes at a time."""

    master: str
    driver_memory: str
    driver_host: str
    executor_memory: str
    executor_cores: _AtLeastOne
    rosters: str
    node_cache: str
    spark_options: tuple[str, ...]
    max_events_per_batch: _AtLeastOne
    max_bytes_per_batch: _AtLeastOne
    min_events_per_task: _AtLeastOne
    poll_seconds: _Interval
    tick_seconds: _Interval
    restart_seconds: _Interval
    max_jobs: _AtLeastOne
    job_retention_seconds: _Interval
