"""What a backup consists of. It is written last: a folder without it is no backup."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from headrace.errors import BackupRefused
from headrace.eventlog.local.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "backup.json"
_VERSION = 1
_CHUNK = 1 << 20


class BackedUp(msgspec.Struct, frozen=True):
    """A file of a backup."""

    bytes: int
    sha256: str


class BackupManifest(msgspec.Struct, frozen=True):
    """`files` by their paths in the backup; `left_out` says what a deployment keeps elsewhere."""

    version: int
    made: str
    files: dict[str, BackedUp]
    left_out: list[str]


def write_manifest(folder: Path, made: str, files: dict[str, BackedUp], left_out: list[str]) -> None:
    """Write it, durably."""
    manifest = BackupManifest(_VERSION, made, files, left_out)
    write_atomically(folder / NAME, msgspec.json.format(msgspec.json.encode(manifest)))
    (folder / NAME).chmod(0o600)


def read_manifest(folder: Path) -> BackupManifest:
    """Read it; BackupRefused where there is none that can be used."""
    try:
        manifest = msgspec.json.decode((folder / NAME).read_bytes(), type=BackupManifest)
    except FileNotFoundError:
        raise BackupRefused(
            f"{folder} is no backup: it has no {NAME}, which is written last; give a folder that "
            "`headrace backup` has finished"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise BackupRefused(f"{folder / NAME} can't be read: {error}; use another backup") from None
    if manifest.version != _VERSION:
        raise BackupRefused(
            f"{folder} is a backup of version {manifest.version}, and this Headrace reads version {_VERSION}"
        )
    return manifest


def verify(folder: Path, files: dict[str, BackedUp], on_progress: Callable[[int], object]) -> None:
    """Compare files with their checksums; BackupRefused names those that differ."""
    damaged = [name for name, known in files.items() if _digest(folder / name, on_progress) != known]
    if damaged:
        raise BackupRefused(
            f"{len(damaged)} files of the backup {folder} are damaged or missing: {', '.join(damaged[:10])}; "
            "use another backup"
        )


def digest(path: Path) -> BackedUp:
    """Return the size and the checksum of a file."""
    found = _digest(path, lambda _: None)
    if found is None:
        raise FileNotFoundError(path)
    return found


def _digest(path: Path, on_progress: Callable[[int], object]) -> BackedUp | None:
    sha256, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                sha256.update(chunk)
                size += len(chunk)
                on_progress(len(chunk))
    except OSError:
        return None
    return BackedUp(size, sha256.hexdigest())
