"""The layout of the data folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one embedded deployment."""

    data: Path

    @property
    def log(self) -> Path:
        """Segments of events: the truth of what was accepted."""
        return self.data / "log"

    @property
    def outbox(self) -> Path:
        """Planned deliveries: the truth of what was routed."""
        return self.data / "outbox"

    @property
    def log_end(self) -> Path:
        """Where the log ended, recorded outside of it so that its loss or an older copy is noticed."""
        return self.data / "records" / "log.end"

    @property
    def work(self) -> Path:
        """Spark's scratch space; may be removed while the service is stopped."""
        return self.data / "pipeline"

    @property
    def run(self) -> Path:
        """State shared by the running processes; may be removed while the service is stopped."""
        return self.data / "run"
