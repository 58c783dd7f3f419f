"""Whether a database is the one it was, as far as is remembered of it."""

from __future__ import annotations

import sqlite3
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from headrace.database.sqlite.locations import is_absent
from headrace.database.sqlite.record import read_database, read_record
from headrace.database.sqlite.seal import checksum_of

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.database.sqlite.record import Record


class Difference(StrEnum):
    """How a database isn't what it was."""

    MISSING = "missing"
    FOREIGN = "foreign"
    OLDER = "older"
    OVERWRITTEN = "overwritten"
    CHANGED = "changed"


class Finding(NamedTuple):
    """A difference, in a sentence."""

    difference: Difference
    text: str


def compare(path: Path) -> Finding | None:
    """Compare the database at `path` with what is remembered of it; None where they agree, or nothing is."""
    known = read_record(path)
    if known is None:
        return None
    if is_absent(path):
        state = "empty" if path.exists() else "missing"
        return Finding(Difference.MISSING, f"the file is {state}, and a database was there before")
    if known.suspect:
        text = "the file was overwritten or replaced while it was in use, so it may be a mixture of two"
        return Finding(Difference.OVERWRITTEN, text)
    return _compare(known, path)


def _compare(known: Record, path: Path) -> Finding | None:
    try:
        found = read_database(path)
    except sqlite3.Error:
        return None  # what is wrong with it is for others to tell
    return _compare_counts(known, found) or _compare_checksums(known, found, path)


def _compare_checksums(known: Record, found: Record, path: Path) -> Finding | None:
    """See a change that isn't a commit of Headrace's; where there were such commits since, nothing is known."""
    if known.closed is None or known.commits != found.commits or known.closed == checksum_of(path):
        return None
    text = (
        "the file was changed after the service had stopped, by something else than this version of Headrace"
    )
    return Finding(Difference.CHANGED, text)


def _compare_counts(known: Record, found: Record) -> Finding | None:
    if found.identity != known.identity:
        return Finding(Difference.FOREIGN, "it is another database than the one that was here before")
    if behind := known.commits_ahead_of(found):
        commits = "the last commit is" if behind == 1 else f"the last {behind} commits are"
        return Finding(Difference.OLDER, f"it is older than the one that was here before: {commits} missing")
    return None
