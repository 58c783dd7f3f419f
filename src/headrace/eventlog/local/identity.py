"""The identity of a log, by which log, outbox and ledger recognise one another.

The name is random and made with the log. It stays the same while the number of starts grows, so an older copy of a log
has the same name and fewer starts than the outbox and the ledger know of. Where an operator accepts that events are
missing, the log gets a new name and lists its former ones.
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
"""In the log's folder: its identity. In the outbox's folder: that of the log it was routed from."""


class LogIdentity(NamedTuple):
    """A log's name, how often its writer was started, and its former names."""

    name: str
    starts: int
    former: tuple[str, ...] = ()

    def is_older_than(self, other: LogIdentity) -> bool:
        """Tell whether this is an earlier state of the same log."""
        return self.name == other.name and self.starts < other.starts

    def continues(self, other: LogIdentity) -> bool:
        """Tell whether this is the other log, or goes on from it."""
        return other.name == self.name or other.name in self.former


def new_identity(former: Iterable[str] = ()) -> LogIdentity:
    """Name a log that is new, or that goes on from others without all of their events."""
    return LogIdentity(secrets.token_hex(16), 0, tuple(sorted(former)))


def read_identity(folder: Path) -> LogIdentity | None:
    """Return the identity stored in a folder; None where there is none, or it is damaged."""
    content = read_checked(folder / IDENTITY_FILE)
    return None if content is None else msgspec.json.decode(content, type=LogIdentity)


def write_identity(folder: Path, identity: LogIdentity) -> None:
    """Store an identity in a folder, durably."""
    write_checked(folder / IDENTITY_FILE, msgspec.json.encode(identity))
