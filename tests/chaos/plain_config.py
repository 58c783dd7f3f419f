"""The configuration of a service in one process."""

from pathlib import Path
from typing import Any

from tests.delivery.harness import QUICK

from headrace.config import Config, load_config

BATCH = 4
"""Events in a batch of the route, and so in a file of the outbox."""

_SEGMENT_BYTES = 4000


def plain_config(data: Path, *, accept_damage: bool = False) -> Config:
    """Small segments, small batches, short waits, no archive."""
    quick = {f"delivery.{key}": value for key, value in (QUICK | {"retries": 1000}).items()}
    overrides: dict[str, Any] = quick | {
        "data": str(data),
        "log.segment_bytes": _SEGMENT_BYTES,
        "log.accept_damage": accept_damage,
        "store.patience_seconds": 0.5,
        "delivery.patience_seconds": 0.5,
        "delivery.shutdown_seconds": 0.5,
        "pipeline.max_events_per_batch": BATCH,
        "pipeline.restart_seconds": 0.05,
        "archive.enabled": False,
    }
    return load_config(None, overrides, {})
