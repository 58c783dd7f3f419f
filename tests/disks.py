"""Small file systems that can be filled, for tests of full disks."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_BYTES = 4 << 20


@dataclass(frozen=True)
class Disk:
    """A small file system, and a file that takes what room it has."""

    folder: Path

    def fill(self, leave: int = 0) -> None:
        """Take all room but this much."""
        with (self.folder / "ballast").open("ab", buffering=0) as ballast:
            for size in (1 << 20, 1 << 16, 1 << 12, 1 << 10):
                try:
                    while ballast.write(b"\0" * size) == size:
                        pass
                except OSError:
                    pass
            ballast.truncate(ballast.tell() - leave)

    def free(self) -> None:
        (self.folder / "ballast").unlink()


def _run(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small file system can't be mounted here: {done.stderr.strip() or command[0]}")


def mount_tmpfs(tmp_path: Path, folder: Path, size: int = _BYTES) -> None:
    _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)


def mount_ext4(tmp_path: Path, folder: Path, size: int = _BYTES) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(size)
    _run("mkfs.ext4", "-q", "-m", "0", image)
    _run("mount", "-o", "loop", image, folder)


@contextmanager
def small_disk(mount: Callable[..., None], tmp_path: Path, size: int = _BYTES) -> Iterator[Disk]:
    """A real file system of a few megabytes; the test is skipped where this process may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mount(tmp_path, folder, size)
    except FileNotFoundError as error:
        pytest.skip(f"a small file system can't be mounted here: {error}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(params=[mount_tmpfs, mount_ext4], ids=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """One of each kind."""
    with small_disk(request.param, tmp_path) as made:
        yield made
