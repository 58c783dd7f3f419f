"""Verification of archived files: their size before they are read, the checksums of their pages while.

Spark takes an empty file for one without events. So a query checks sizes first, and fails rather than answer without
events that were archived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import ArchiveDamaged
from headrace.events.positions import offset_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.eventlog.archive.manifest import ArchivedFile
    from headrace.eventlog.archive.storage import Storage


def check_sizes(storage: Storage, files: Iterable[ArchivedFile]) -> None:
    """Raise ArchiveDamaged where a local file is missing, or has another size than it was written with."""
    if storage.folder is None:
        return  # a request to an object store for each file would take longer than the query
    for file in files:
        try:
            size = (storage.folder / file.path).stat().st_size
        except OSError as error:
            raise damaged(storage, file, error.strerror or str(error)) from None
        if size != file.bytes:
            raise damaged(storage, file, f"it has {size} bytes instead of {file.bytes}")


def read_events(
    storage: Storage, file: ArchivedFile, rows: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield a file's events in batches of `rows`. Raise ArchiveDamaged where a page differs from its checksum."""
    try:
        with storage.open(file.path) as opened:
            yield from pq.ParquetFile(opened, page_checksum_verification=True).iter_batches(
                rows, columns=columns
            )
    except (pa.ArrowException, OSError) as error:
        raise damaged(storage, file, str(error).partition("\n")[0]) from error


def verify_file(storage: Storage, file: ArchivedFile) -> ArchiveDamaged | None:
    """Read a file to its end, and return what is wrong with it, if anything."""
    try:
        check_sizes(storage, [file])
        rows = sum(batch.num_rows for batch in read_events(storage, file, 1 << 14))
    except ArchiveDamaged as error:
        return error
    return None if rows == file.rows else damaged(storage, file, f"it has {rows} events")


def explain_spark_error(storage: Storage, error: Exception) -> Exception:
    """Return what is wrong with the archived file that an error of Spark names, or else the error itself."""
    text = str(error)
    for file in storage.manifest().files:
        if file.path.rpartition("/")[2] in text:
            return verify_file(storage, file) or damaged(storage, file, "Spark can't read it")
    return error


def damaged(storage: Storage, file: ArchivedFile, problem: str) -> ArchiveDamaged:
    """Return an error that says what is wrong with a file, and what it held."""
    held = (
        f"{file.rows} events of channel {file.namespace}/{file.channel} of {file.date} "
        f"(positions {offset_of(file.first)} to {offset_of(file.last)})"
    )
    return ArchiveDamaged(storage.uri(file.path), problem, held)
