"""Settings of the archive; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

_Seconds = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """Where archived events are kept, and for how long."""

    enabled: bool
    path: str
    interval_seconds: Annotated[float, Meta(gt=0)]
    retention_seconds: _Seconds
    retention_bytes: Annotated[int, Meta(ge=0)]
    file_bytes: Annotated[int, Meta(ge=1)]
    grace_seconds: _Seconds
