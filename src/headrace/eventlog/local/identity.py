"""Which log it is: a name by which log, outbox and ledger recognise one another.

The name is random and made with the log. It stays the same while the log goes on, and the number of starts grows: an
older copy of a log has its name and fewer starts than those remember who were made from the newer one. Where an
operator accepts that events are missing, the log gets a new name, and knows the ones before.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headrace.eventlog.local.files import read_checked, write_checked

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

IDENTITY_FILE = "IDENTITY"
"""In the log's folder: which log it is. In the outbox's: the log that it was routed from."""


class LogIdentity(NamedTuple):
    """A log's name, how often its writer was started, and the names of what it goes on from."""

    name: str
    starts: int
    former: tuple[str, ...] = ()

    def is_older_than(self, other: LogIdentity) -> bool:
        """Tell whether this is the same log before it was started again."""
        return self.name == other.name and self.starts < other.starts

    def goes_on_from(self, other: LogIdentity) -> bool:
        """Tell whether what was made from the other log was made from this one."""
        return other.name == self.name or other.name in self.former


def new_identity(former: Iterable[str] = ()) -> LogIdentity:
    """Name a log that has just been made, or goes on from others without all of their events."""
    return LogIdentity(secrets.token_hex(16), 0, tuple(sorted(former)))


def read_identity(folder: Path) -> LogIdentity | None:
    """Return which log a folder says it is of; None where it doesn't say, or can't be understood."""
    content = read_checked(folder / IDENTITY_FILE)
    return None if content is None else msgspec.json.decode(content, type=LogIdentity)


def write_identity(folder: Path, identity: LogIdentity) -> None:
    """Say durably which log a folder is of."""
    write_checked(folder / IDENTITY_FILE, msgspec.json.encode(identity))
