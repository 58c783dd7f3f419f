"""Errors of databases, secrets, backups and files of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors.base import HeadraceError, Temporary

if TYPE_CHECKING:
    from pathlib import Path


class StoreUnavailable(Temporary):
    """The database is lost, for now. `unknown` where it was lost in a commit, which may have got through."""

    code = "store-unavailable"

    def __init__(self, reason: str, *, unknown: bool = False, retry_after: int = 2) -> None:
        outcome = (
            "whether the change was made is unknown: look before you repeat it"
            if unknown
            else "nothing was changed"
        )
        super().__init__(f"the database can't be used ({reason}); {outcome}, try again in {retry_after} s")
        self.unknown = unknown
        self.retry_after = retry_after


class DatabaseDamaged(StoreUnavailable):
    """A database's file is damaged, missing or another one than it was. It stays so until an operator decides.

    `name` is what commands call the database, `held` says what is in it, `finding` what is wrong with it.
    """

    code = "database-damaged"

    def __init__(self, path: Path, name: str, held: str, finding: str, *, may_accept: bool = False) -> None:
        accept = f", or go on with it as it is: `headrace restore --accept {name}`" if may_accept else ""
        HeadraceError.__init__(
            self,
            f"the database {path} can't be used: {finding}. It holds {held}, and nothing more is written to it. "
            f"Stop the service, then put a backup back: `headrace restore --from FOLDER --only {name}`, or keep what "
            f"can be read of it: `headrace restore --rebuild {name}`{accept}",
        )
        self.path, self.name, self.held, self.finding = path, name, held, finding
        self.unknown, self.retry_after = False, 60


class SchemaRefused(HeadraceError):
    """Tables that can't be worked with. Nothing was changed in them: an operator decides."""

    code = "schema-refused"

    def __init__(self, family: str, database: str, problem: str, remedy: str) -> None:
        super().__init__(f"the tables of {family!r} in {database} {problem}. {remedy}.")
        self.family = family
        self.database = database


class BackupRefused(HeadraceError):
    """A backup can't be made there, or can't be put back. The message says what to do; nothing was changed."""

    code = "backup-refused"


class SecretsLocked(HeadraceError):
    """Secrets stay closed until the operator gives the right key. Nothing is lost by it."""

    code = "secrets-locked"
    http_status = 503


class SnapshotRefused(HeadraceError):
    """A file of the index that can't be used. It can be deleted: the next one is written from the subscriptions."""

    code = "snapshot-refused"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"the index in {path} can't be used: {problem}")
        self.path = path


class UnreadableExport(HeadraceError):
    """Bytes that can't be read back. `what` they should be, and `reason` why they aren't."""

    code = "unreadable-export"

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"this is not {what} that can be read here: {reason}")
        self.what = what
        self.reason = reason
