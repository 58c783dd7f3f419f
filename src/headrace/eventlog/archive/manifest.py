"""The manifest: which files the archive consists of. A file that it doesn't name doesn't count, whatever is on disk.

Each change is a new manifest with the next number: a reader takes the highest. Its first line has the format and the
checksum of the rest, so that a torn, edited or newer one is refused instead of misread.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from headrace.errors import ArchiveRefused
from headrace.filters.backends.extremes import StringRange  # noqa: TC001  msgspec reads it at run time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.events.positions import LogPosition

FORMAT = 2

Span = tuple[int, int]


class ArchivedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One Parquet file: events of one channel and one day, sorted by position.

    `spans` has the first position and the one behind the last, by partition. `published` (microseconds) and `happened`
    (milliseconds, of events with a readable time) are the least and the greatest. `extensions` have a column of their
    own; `more_extensions` says that some event has others. `values` has the extremes of each attribute that has a
    column and that some event has. `memory` is the size of the events as Arrow columns, `largest` a bound of the
    largest one's.
    """

    path: str
    namespace: str
    channel: str
    date: str
    rows: int
    bytes: int
    memory: int
    largest: int
    spans: dict[int, Span]
    published: Span
    happened: Span | None
    extensions: tuple[str, ...]
    more_extensions: bool
    values: dict[str, StringRange]

    @property
    def first(self) -> int:
        """Its first position."""
        return min(start for start, _ in self.spans.values())

    @property
    def last(self) -> int:
        """Its last position."""
        return max(end for _, end in self.spans.values()) - 1


class Leaving(msgspec.Struct, frozen=True):
    """A file that no longer counts, and stays a while for queries that read an older manifest."""

    path: str
    since: float


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The archive at one moment. Every event before `archived` is in `files`, was removed by retention, or is lost.

    Before `expired` some may have been removed. `lost` counts, by partition, the positions that the log no longer had
    when they were to be archived; not every position had an event.
    """

    version: int = 0
    archived: dict[int, int] = {}
    expired: dict[int, int] = {}
    lost: dict[int, int] = {}
    files: tuple[ArchivedFile, ...] = ()
    leaving: tuple[Leaving, ...] = ()

    def followed(
        self,
        *,
        now: float,
        add: Iterable[ArchivedFile] = (),
        drop: Iterable[ArchivedFile] = (),
        archived: LogPosition | None = None,
        expired: LogPosition | None = None,
        lost: Mapping[int, int] | None = None,
        gone: Iterable[str] = (),
    ) -> Manifest:
        """Return the next manifest, with files added, dropped, and gone from the ones that were leaving."""
        dropped, removed = {file.path for file in drop}, set(gone)
        kept = [file for file in self.files if file.path not in dropped]
        return Manifest(
            version=self.version + 1,
            archived=self.archived | dict(archived or {}),
            expired=self.expired | dict(expired or {}),
            lost=self.lost
            | {partition: self.lost.get(partition, 0) + more for partition, more in (lost or {}).items()},
            files=tuple(sorted([*kept, *add], key=lambda file: (file.first, file.path))),
            leaving=(
                *(each for each in self.leaving if each.path not in removed),
                *(Leaving(path, now) for path in sorted(dropped)),
            ),
        )

    @property
    def rows(self) -> int:
        """How many events there are."""
        return sum(file.rows for file in self.files)

    @property
    def positions_lost(self) -> int:
        """How many positions the log no longer had when they were to be archived."""
        return sum(self.lost.values())

    @property
    def bytes(self) -> int:
        """How many bytes they take."""
        return sum(file.bytes for file in self.files)


class _Head(msgspec.Struct, frozen=True):
    format: int
    sha256: str


def encode_manifest(manifest: Manifest) -> bytes:
    """Write a manifest; the inverse of `decode_manifest`."""
    body = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    head = _Head(FORMAT, hashlib.sha256(body).hexdigest())
    return msgspec.json.encode(head) + b"\n" + body


def decode_manifest(path: str, content: bytes) -> Manifest:
    """Read a manifest, or refuse it with the reason."""
    first, _, body = content.partition(b"\n")
    try:
        head = msgspec.json.decode(first, type=_Head)
    except msgspec.DecodeError:
        raise ArchiveRefused(path, "it doesn't begin like a manifest") from None
    if head.format != FORMAT:
        raise ArchiveRefused(path, f"it has format {head.format}, this program reads format {FORMAT}")
    if head.sha256 != hashlib.sha256(body).hexdigest():
        raise ArchiveRefused(path, "its checksum is wrong")
    try:
        return msgspec.json.decode(body, type=Manifest)
    except msgspec.DecodeError as error:
        raise ArchiveRefused(path, str(error)) from None
