"""Events to append, logs to append them to, and what a reader makes of them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import END_WATERMARK
from headrace.eventlog.local.watermark import Watermark
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.batch import from_batch
from headrace.events.event import AttributeValue, Event
from headrace.events.recorded import Arrival, Recorded

HUGE = 1 << 40


@contextmanager
def logs() -> Iterator[Callable[..., SegmentWriter]]:
    """Open logs for writing; what is left open is closed at the end."""
    with ExitStack() as stack:
        yield lambda folder, segment_bytes=HUGE: stack.enter_context(
            closing(SegmentWriter(folder, segment_bytes))
        )


def arrival(name: object, data: bytes | None = None) -> Arrival:
    attributes: dict[str, AttributeValue] = {
        "specversion": "1.0",
        "id": str(name),
        "source": "/s",
        "type": "t",
        "urgent": True,
    }
    return Arrival(Event(attributes, data), "default", "default", traceparent=f"00-{name}")


def arrivals(names: Iterable[object], data: bytes | None = None) -> list[Arrival]:
    return [arrival(name, data) for name in names]


def read(folder: Path, start: int = 0, end: int | None = None) -> list[Recorded]:
    """What a reader that has just come finds."""
    reader = SegmentReader(folder)
    end = reader.end()[0] if end is None else end
    return [recorded for batch in reader.read(start, end) for recorded in from_batch(batch)]


def ids(folder: Path, start: int = 0, end: int | None = None) -> list[str]:
    """The ids, after a check that the positions are the right ones."""
    found = read(folder, start, end)
    assert [recorded.position for recorded in found] == list(range(start, start + len(found)))
    return [recorded.event.id for recorded in found]


def build(folder: Path, commits: Iterable[Iterable[object]], segment_bytes: int = HUGE) -> Path:
    """A log with one frame per commit, closed in good order."""
    writer = SegmentWriter(folder, segment_bytes)
    for names in commits:
        writer.append(arrivals(names))
    writer.close()
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file's bytes, except the lock, which says who looked last."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "LOCK"}


def python(code: str, *arguments: object) -> Any:
    """Start a real process, a Popen; its standard output and input are pipes."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def remember(folder: Path) -> Callable[[Path], Path]:
    """Return what lays the same log out anew, in a folder of its own, as often as wanted."""
    files = snapshot(folder)

    def lay_out(target: Path) -> Path:
        target.mkdir()
        for name, content in files.items():
            (target / name).write_bytes(content)
        return target

    return lay_out


def set_end(folder: Path, end: int | None) -> None:
    """Make the log's mark say this; None for a mark that was lost."""
    (folder / END_WATERMARK).unlink(missing_ok=True)
    if end is not None:
        mark = Watermark(folder / END_WATERMARK, create=True)
        mark.set(end)
        mark.close()


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is one: tests that open a log a thousand times shouldn't wait for a disk."""
    with TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield Path(name)
