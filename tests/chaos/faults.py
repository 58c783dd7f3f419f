"""What can happen to a file, done to it: a flipped bit, a missing end, nothing left, gone, an older copy in its place.

Each fault is the same for the same seed and the same path inside the data folder.
"""

import os
import random
import shutil
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

_EDGE = 64  # bytes that count as the beginning or the end of a file


class NotApplicable(Exception):
    """The fault would change nothing: the file is empty, or there is no other older copy of it."""


class Fault(StrEnum):
    FLIP_HEAD = "flip-head"
    FLIP_MIDDLE = "flip-middle"
    FLIP_END = "flip-end"
    HALVE = "halve"
    SHORTEN = "shorten"
    EMPTY = "empty"
    REMOVE = "remove"
    OLDER_RENAMED = "older-renamed"
    OLDER_WRITTEN = "older-written"


FOLDER_FAULTS = (Fault.REMOVE, Fault.OLDER_RENAMED)
"""What can happen to a whole folder, or to a database with its companions, at once."""


def damage(data: Path, older: Path, files: Sequence[str], fault: Fault, seed: int) -> list[str]:
    """Do it to each of these files, and return which it changed; NotApplicable where that is none of them."""
    changed = []
    for name in files:
        try:
            _FAULTS[fault](data / name, older / name, random.Random(f"{seed} {name} {fault}"))
        except (NotApplicable, FileNotFoundError):
            continue
        changed.append(name)
    if not changed:
        raise NotApplicable(f"{fault} changes nothing of {', '.join(files) or 'no files'}")
    return changed


def damage_folder(data: Path, older: Path, name: str, fault: Fault) -> list[str]:
    """Remove a folder, or put the older one in its place."""
    if not (data / name).is_dir() or (fault is Fault.OLDER_RENAMED and not (older / name).is_dir()):
        raise NotApplicable(f"there is no folder {name}, or no older one")
    (data / name).rename(data.with_name(f"{data.name}-{name}-away"))  # at one moment, as `mv` does
    if fault is Fault.OLDER_RENAMED:
        shutil.copytree(older / name, data / name)
    return [name]


def _flip(path: Path, low: int, high: int, chance: random.Random) -> None:
    """Flip a bit of a byte that isn't 0, where there is one: much of a database is unused, and full of zeros."""
    content = path.read_bytes()[low:high]
    used = [at for at, byte in enumerate(content) if byte] or range(len(content))
    at = chance.choice(used)
    with path.open("rb+") as file:
        file.seek(low + at)
        file.write(bytes([content[at] ^ (1 << chance.randrange(8))]))


def _size(path: Path) -> int:
    size = path.stat().st_size
    if not size:
        raise NotApplicable
    return size


def _flip_head(path: Path, _: Path, chance: random.Random) -> None:
    _flip(path, 0, min(_size(path), _EDGE), chance)


def _flip_middle(path: Path, _: Path, chance: random.Random) -> None:
    size = _size(path)
    _flip(path, size // 4, max(size * 3 // 4, size // 4 + 1), chance)


def _flip_end(path: Path, _: Path, chance: random.Random) -> None:
    size = _size(path)
    _flip(path, max(size - _EDGE, 0), size, chance)


def _halve(path: Path, *_: object) -> None:
    os.truncate(path, _size(path) // 2)


def _shorten(path: Path, *_: object) -> None:
    os.truncate(path, _size(path) - 1)


def _empty(path: Path, *_: object) -> None:
    _size(path)
    os.truncate(path, 0)


def _remove(path: Path, *_: object) -> None:
    path.unlink()


def _other_copy(path: Path, older: Path) -> bytes:
    if not older.is_file() or older.read_bytes() == path.read_bytes():
        raise NotApplicable
    return older.read_bytes()


def _rename_over(path: Path, older: Path, _: object) -> None:
    copy = path.with_name(f"{path.name}.restored")
    copy.write_bytes(_other_copy(path, older))
    copy.rename(path)


def _write_in_place(path: Path, older: Path, _: object) -> None:
    """As `cp` does: the same file, with other content."""
    content = _other_copy(path, older)
    with path.open("rb+") as file:
        file.write(content)
        file.truncate()


_FAULTS: dict[Fault, Callable[[Path, Path, random.Random], None]] = {
    Fault.FLIP_HEAD: _flip_head,
    Fault.FLIP_MIDDLE: _flip_middle,
    Fault.FLIP_END: _flip_end,
    Fault.HALVE: _halve,
    Fault.SHORTEN: _shorten,
    Fault.EMPTY: _empty,
    Fault.REMOVE: _remove,
    Fault.OLDER_RENAMED: _rename_over,
    Fault.OLDER_WRITTEN: _write_in_place,
}
