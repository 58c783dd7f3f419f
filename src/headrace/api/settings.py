"""Settings of the HTTP API; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

_Port = Annotated[int, Meta(ge=0, le=65535)]
_Bytes = Annotated[int, Meta(ge=1)]
_Kept = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[int, Meta(ge=0)]
_Patience = Annotated[float, Meta(gt=0)]
_Count = Annotated[int, Meta(ge=1)]
_Name = Annotated[str, Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Where to listen, and the limits."""

    host: str
    port: _Port
    address: Annotated[str, Meta(pattern=r"^$|^https?://[^\s/]+(/[^\s?#]*)?$")]
    allowed_hosts: tuple[_Name, ...]
    trusted_proxies: tuple[_Name, ...]
    max_connections: _Count
    max_connections_per_address: _Count
    max_header_bytes: _Bytes
    max_headers: _Count
    max_url_bytes: _Bytes
    head_seconds: _Patience
    body_idle_seconds: _Patience
    min_body_bytes_per_second: _Count
    max_document_bytes: _Bytes
    max_manifest_bytes: _Bytes
    max_event_bytes: _Bytes
    max_batch_bytes: _Bytes
    max_inflight_bytes: _Bytes
    max_import_bytes: _Bytes
    import_idle_seconds: _Patience
    max_backlog_events: _Kept
    max_backlog_bytes: _Bytes
    max_outbox_bytes: _Bytes
    min_free_bytes: _Kept
    shutdown_seconds: _Seconds
    metrics: bool

    @property
    def own_address(self) -> str:
        """The base URL of channels: as set, or as reached from this machine."""
        return self.address_at(self.port)

    def address_at(self, port: int) -> str:
        """Return the base URL for the port that was bound, which may be chosen by the system."""
        if self.address:
            return self.address.rstrip("/")
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
