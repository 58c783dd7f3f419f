"""Errors of the archive."""

from __future__ import annotations

from headrace.errors.base import HeadraceError


class ArchiveError(HeadraceError):
    """The archive can't do what was asked."""

    code = "archive"


class ArchiveRefused(ArchiveError):
    """What the archive consists of can't be told. Nothing is changed: an operator decides."""

    code = "archive-refused"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"the archive's manifest {path} can't be used: {problem}. Restore it from a copy, "
            "or set archive.path to another folder to begin a new archive."
        )
        self.path = path


class ArchiveDamaged(ArchiveError):
    """A file of past events can't be read. Queries that need it fail rather than answer without its events.

    `held` says what was in it.
    """

    code = "archive-damaged"

    def __init__(self, path: str, problem: str, held: str) -> None:
        super().__init__(
            f"the archive's file {path} can't be used: {problem}. It held {held}. Restore it from a copy, "
            "or give its events up: headrace archive forget"
        )
        self.path = path
        self.held = held


class ArchiveBusy(ArchiveError):
    """Two writers would take files from under one another."""

    code = "archive-busy"

    def __init__(self, path: str) -> None:
        super().__init__(f"another process writes the archive {path} at the moment; try again in a minute")
