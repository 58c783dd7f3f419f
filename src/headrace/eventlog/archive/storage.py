"""The archive's files, on any file system that pyarrow knows: a local folder, or s3://, gs://, hdfs://.

A file counts only when a manifest names it, and a manifest is written in full or not at all. Locally both are synced,
the file before the manifest; elsewhere a closed file is durable.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pyarrow import fs

from headrace.errors import ArchiveBusy, ArchiveRefused
from headrace.eventlog.archive.manifest import Manifest, decode_manifest, encode_manifest
from headrace.eventlog.local.files import TEMPORARY, copy_permissions, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

EVENTS = "events"
_MANIFEST = re.compile(r"manifest-([0-9]{12})\.json")
_BEGUN = "BEGUN"
_KEPT = 3
"""Manifests that are kept, so that a reader that has just listed them still finds the one it chose."""


class Storage:
    """The folder of one archive. Anyone may read; only the holder of the archive's lock may write."""

    def __init__(self, root: str) -> None:
        root = root.removeprefix("file://")
        if "://" in root:
            self._files, self.root = fs.FileSystem.from_uri(root)
            self.folder = None
            scheme = root.partition("://")[0]
            self._uri = f"{'s3a' if scheme == 's3' else scheme}://{self.root}"
        else:
            self._files, self.root = fs.LocalFileSystem(), str(Path(root).absolute())
            self.folder = Path(self.root)
            self._uri = self.root

    def uri(self, path: str) -> str:
        """Return a file's address as Spark writes it."""
        return f"{self._uri}/{path}"

    # Reading

    def manifest(self) -> Manifest:
        """Return the current manifest; an empty one where nothing was ever archived."""
        for _ in range(_KEPT):
            versions = self._versions()
            if not versions:
                if _BEGUN in self._names():
                    raise ArchiveRefused(self.uri("manifest-…"), "none is left, though events were archived")
                return Manifest()
            path = _manifest_path(versions[-1])
            try:
                return decode_manifest(self.uri(path), self.read(path))
            except FileNotFoundError:
                continue  # several newer ones were written since it was listed
        raise ArchiveBusy(self._uri)

    def read(self, path: str) -> bytes:
        """Return a small file's content."""
        with self._files.open_input_stream(f"{self.root}/{path}") as file:
            content: bytes = file.read()
        return content

    def open(self, path: str) -> Any:
        """Open a file for random access."""
        return self._files.open_input_file(f"{self.root}/{path}")

    def list_events(self) -> dict[str, int]:
        """Return the size of each file of events in the folder, whether it counts or not."""
        selector = fs.FileSelector(f"{self.root}/{EVENTS}", allow_not_found=True, recursive=True)
        found = self._files.get_file_info(selector)
        return {self._relative(each.path): each.size for each in found if each.type == fs.FileType.File}

    # Writing

    def create(self, path: str) -> Any:
        """Open a new file for writing."""
        self._files.create_dir(f"{self.root}/{PurePosixPath(path).parent}", recursive=True)
        opened = self._files.open_output_stream(f"{self.root}/{path}")
        if self.folder is not None:
            for part in (path, *map(str, PurePosixPath(path).parents)):
                copy_permissions(self.folder, self.folder / part)
        return opened

    def keep(self, paths: Iterable[str]) -> None:
        """Make closed files durable, and their folders up to the one that holds the archive."""
        if self.folder is None:
            return
        folders: set[Path] = set()
        for path in paths:
            _sync_file(self.folder / path)
            folders.update((self.folder / path).parents[: len(PurePosixPath(path).parts) + 1])
        for folder in sorted(folders, reverse=True):
            sync_folder(folder)

    def commit(self, manifest: Manifest) -> None:
        """Make this the current manifest, which makes a change effective."""
        path = _manifest_path(manifest.version)
        versions = self._versions()
        if versions and versions[-1] >= manifest.version:
            raise ArchiveBusy(self._uri)
        temporary = path + TEMPORARY
        with self.create(temporary) as file:
            file.write(encode_manifest(manifest))
        self.keep([temporary])
        self._files.move(f"{self.root}/{temporary}", f"{self.root}/{path}")
        if self.folder is not None:
            sync_folder(self.folder)
        for version in versions[: 1 - _KEPT]:
            self.delete(_manifest_path(version))

    def note_begun(self) -> None:
        """Record that there is a manifest: if none is found later, files must not count as leftovers."""
        if self._versions() and _BEGUN not in self._names():
            with self.create(_BEGUN) as file:
                file.write(b"Events are archived here; a manifest says in which files.\n")
            self.keep([_BEGUN])

    def delete(self, path: str) -> None:
        """Remove a file, if it is there."""
        try:
            self._files.delete_file(f"{self.root}/{path}")
        except FileNotFoundError:
            return

    def sweep(self) -> int:
        """Remove files that an interrupted run left and no manifest names; return how many they were."""
        manifest = self.manifest()
        named = {file.path for file in manifest.files} | {each.path for each in manifest.leaving}
        left = [path for path in self.list_events() if path not in named]
        left += [name for name in self._names() if name.endswith(TEMPORARY)]
        for path in left:
            self.delete(path)
        return len(left)

    def _names(self) -> list[str]:
        selector = fs.FileSelector(self.root, allow_not_found=True)
        return [each.base_name for each in self._files.get_file_info(selector)]

    def _versions(self) -> list[int]:
        names = map(_MANIFEST.fullmatch, self._names())
        return sorted(int(name.group(1)) for name in names if name)

    def _relative(self, path: str) -> str:
        return str(PurePosixPath(path).relative_to(self.root))


def _manifest_path(version: int) -> str:
    return f"manifest-{version:012d}.json"


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
