from collections.abc import Callable, Iterator

import pytest
from tests.disks import Disk, disk
from tests.eventlog.arrivals import logs

from headrace.eventlog.local.writer import SegmentWriter

__all__ = ["Disk", "disk"]


@pytest.fixture
def open_log() -> Iterator[Callable[..., SegmentWriter]]:
    """Open logs for writing; what the test leaves open is closed behind it."""
    with logs() as opened:
        yield opened
