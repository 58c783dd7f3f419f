"""Settings of the HTTP doors; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

_Port = Annotated[int, Meta(ge=0, le=65535)]
_Bytes = Annotated[int, Meta(ge=1)]
_Kept = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Where to listen, and how much to take."""

    host: str
    port: _Port
    address: Annotated[str, Meta(pattern=r"^$|^https?://[^\s/]+(/[^\s?#]*)?$")]
    max_event_bytes: _Bytes
    max_batch_bytes: _Bytes
    max_inflight_bytes: _Bytes
    max_import_bytes: _Bytes
    max_backlog_events: _Kept
    max_backlog_bytes: _Bytes
    max_outbox_bytes: _Bytes
    min_free_bytes: _Kept
    shutdown_seconds: _Seconds
    metrics: bool
