import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.eventlog.arrivals import logs

from headrace.eventlog.local.writer import SegmentWriter

_BYTES = 4 << 20


@pytest.fixture
def open_log() -> Iterator[Callable[..., SegmentWriter]]:
    """Open logs for writing; what the test leaves open is closed behind it."""
    with logs() as opened:
        yield opened


@dataclass(frozen=True)
class Disk:
    """A small file system, and a file that takes what room it has."""

    folder: Path

    def fill(self, leave: int = 0) -> None:
        """Take all room but this much."""
        with (self.folder / "ballast").open("wb", buffering=0) as ballast:
            for size in (1 << 16, 1 << 12, 1 << 10):
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


def _mount_tmpfs(tmp_path: Path, folder: Path) -> None:
    _run("mount", "-t", "tmpfs", "-o", f"size={_BYTES}", "tmpfs", folder)


def _mount_ext4(tmp_path: Path, folder: Path) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(_BYTES)
    _run("mkfs.ext4", "-q", "-m", "0", image)
    _run("mount", "-o", "loop", image, folder)


@pytest.fixture(params=[_mount_tmpfs, _mount_ext4], ids=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A real file system of a few megabytes; skipped where this process may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        request.param(tmp_path, folder)
    except FileNotFoundError as error:
        pytest.skip(f"a small file system can't be mounted here: {error}")
    yield Disk(folder)
    subprocess.run(["umount", "--lazy", folder], check=True)
