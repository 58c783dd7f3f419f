"""The kinds of files in a data folder, found by walking it: a new kind is among them without being listed here."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.faults import FOLDER_FAULTS, Fault, damage, damage_folder

FOLDERS = ("log", "outbox", "archive")
DATABASES = ("store.db", "delivery.db")
# Whoever needs these makes them anew: what is true of all of them together is true of each.
_TOGETHER = ("run/", "pipeline/")
_ROSTERS = "pipeline/rosters/"
_NUMBERS = re.compile(r"[0-9a-f]*\d[0-9a-f]*")


@dataclass(frozen=True)
class Kind:
    """Files that are for the same thing; a fault is done to each of them. `folder` stands for all of a folder."""

    name: str
    files: tuple[str, ...]
    folder: str | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        return FOLDER_FAULTS if self.folder or self.name.endswith(" family") else tuple(Fault)

    def damage(self, data: Path, older: Path, fault: Fault, seed: int) -> list[str]:
        """Return what was changed; NotApplicable where that is nothing."""
        if self.folder:
            return damage_folder(data, older, self.folder, fault)
        changed = damage(data, older, self.files, fault, seed)
        if fault in FOLDER_FAULTS:  # what the older copy doesn't have didn't exist then
            for name in set(self.files) - set(changed):
                if not (older / name).exists():
                    (data / name).unlink(missing_ok=True)
        return changed

    def names(self) -> Iterator[str]:
        """What a message may call it by: the file, or the path of the folder that it is in."""
        for file in self.files:
            path = Path(file)
            yield path.name
            yield path.name.removesuffix("-wal").removesuffix("-shm")
            if len(path.parts) > 1:
                yield f"/{path.parts[0]}"
        if self.folder:
            yield f"/{self.folder}"


def kinds_in(data: Path, older: Path) -> dict[str, Kind]:
    """Every kind that the folder has a file of, by name. The older copy says which segment has grown since."""
    files = sorted(str(path.relative_to(data)) for path in data.rglob("*") if path.is_file())
    files = [
        file for file in files if not file.endswith("LOCK")
    ]  # empty of meaning: the kernel holds the lock
    grown = [file for file in _matching(files, "log/", ".seg") if _differs(data / file, older / file)]
    return {kind.name: kind for kind in _kinds(files, grown) if kind.files or kind.folder}


def _differs(path: Path, older: Path) -> bool:
    return older.exists() and older.stat().st_size != path.stat().st_size


def _kinds(files: list[str], grown: list[str]) -> Iterator[Kind]:
    yield from _chosen("log segment", grown, ("grown",))
    yield from _chosen("log segment", _matching(files, "log/", ".seg"), ("first", "sealed", "last"))
    yield from _chosen("outbox file", _spans(files), ("first", "middle", "last"))
    yield from _chosen("archive file", _matching(files, "archive/", ".parquet"), ("first",))
    yield from _chosen("archive manifest", _matching(files, "archive/", ".json"), ("last",))
    yield Kind("rosters", tuple(_matching(files, _ROSTERS, "")))
    for folder in _TOGETHER:
        yield Kind(
            folder.strip("/"), tuple(file for file in _matching(files, folder, "") if _ROSTERS not in file)
        )
    known = {*_matching(files, "log/", ".seg"), *_spans(files), *_matching(files, "archive/", "")}
    for file in files:
        if file not in known and not file.startswith(_TOGETHER):
            yield Kind(_NUMBERS.sub("#", file) if file not in DATABASES else file, (file,))
    for database in DATABASES:
        yield Kind(f"{database} family", tuple(file for file in files if file.startswith(database)))
    for folder in FOLDERS:
        if _matching(files, f"{folder}/", ""):
            yield Kind(f"{folder}/", (), folder)


def _matching(files: Iterable[str], folder: str, suffix: str) -> list[str]:
    return [file for file in files if file.startswith(folder) and file.endswith(suffix)]


def _spans(files: Iterable[str]) -> list[str]:
    """Files of the outbox are named by the positions they cover."""
    return [file for file in files if re.fullmatch(r"outbox/\d{20}-\d{20}\.\w+", file)]


def _chosen(name: str, files: list[str], which: tuple[str, ...]) -> Iterator[Kind]:
    place = {"grown": 0, "first": 0, "middle": len(files) // 2, "sealed": -2, "last": -1}
    for each in which if files else ():
        yield Kind(f"{name} {each}", (files[max(place[each], -len(files))],))
