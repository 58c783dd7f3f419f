"""Entries of the audit log, and how they are stored. They have names and digests, never values."""

from __future__ import annotations

import getpass
import hashlib
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, insert, select, update

from headrace.auth.tables import AUDIT
from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

_DIGEST = 16
_LONGEST = 500
_PRUNED_AT_A_TIME = 10_000
HERE = "local"
"""The address of commands that change the database directly."""
DONE, UNKNOWN = 200, 0


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change. `outcome` is the HTTP status, or `UNKNOWN`; `change` has names and digests, no values."""

    who: str
    address: str
    action: str
    kind: str
    object: str
    namespace: str | None = None
    outcome: int = DONE
    change: Mapping[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)
    number: int | None = None

    def document(self) -> dict[str, Any]:
        """Return the entry as the API shows it."""
        shown = {
            "number": self.number,
            "time": timestamp(self.time),
            "who": self.who,
            "address": self.address,
            "action": self.action,
            "kind": self.kind,
            "object": self.object or None,
            "namespace": self.namespace,
            "outcome": None if self.outcome == UNKNOWN else self.outcome,
            "change": dict(self.change) or None,
        }
        return {name: value for name, value in shown.items() if value is not None}


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Selects entries; None selects all. `before` is the number of the last entry seen."""

    namespaces: Collection[str] | None = None
    who: str | None = None
    kind: str | None = None
    object: str | None = None
    since: float | None = None
    until: float | None = None
    before: int | None = None
    limit: int = 100

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions on rows."""
        table = AUDIT.c
        if self.namespaces is not None:
            yield table.namespace.in_(sorted(self.namespaces))
        for column, value in ((table.who, self.who), (table.kind, self.kind), (table.object, self.object)):
            if value is not None:
                yield column == value
        if self.since is not None:
            yield table.time >= self.since
        if self.until is not None:
            yield table.time < self.until
        if self.before is not None:
            yield table.number < self.before


def by_command(action: str, kind: str, object_: str, namespace: str | None, **change: Any) -> AuditEntry:
    """Return the entry of a change that a command makes in the database, without the service."""
    return AuditEntry(
        f"command:{getpass.getuser()}@{socket.gethostname()}", HERE, action, kind, object_, namespace,
        change=change,
    )  # fmt: skip


def digest(document: Any) -> str:
    """Return a digest, which distinguishes documents without revealing their content."""
    return hashlib.sha256(msgspec.json.encode(document, order="deterministic")).hexdigest()[:_DIGEST]


def difference(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the digests of an object before and after a change, and the names of changed members."""
    names = sorted({*(before or {}), *(after or {})})
    members = [name for name in names if (before or {}).get(name) != (after or {}).get(name)]
    digests = {
        name: digest(document)
        for name, document in (("before", before), ("after", after))
        if document is not None
    }
    return digests | ({"members": members} if before is not None and after is not None else {})


def write(connection: Connection, entries: Sequence[AuditEntry]) -> list[int]:
    """Add entries, in the transaction of the connection; return their numbers."""
    added = insert(AUDIT).returning(AUDIT.c.number)
    return [connection.execute(added, _to_row(each)).scalar_one() for each in entries]


def rewrite(connection: Connection, number: int, entry: AuditEntry) -> bool:
    """Replace an entry; tell whether it existed."""
    row = update(AUDIT).where(AUDIT.c.number == number).values(_to_row(entry))
    return bool(connection.execute(row).rowcount)


def find(connection: Connection, query: AuditQuery) -> list[AuditEntry]:
    """Return entries, the newest first."""
    newest = select(AUDIT).where(*query.conditions()).order_by(AUDIT.c.number.desc()).limit(query.limit)
    return [_from_row(row) for row in connection.execute(newest)]


def prune(connection: Connection, before: float) -> int:
    """Delete entries before a time, as many as one commit should; return their number."""
    old = select(AUDIT.c.number).where(AUDIT.c.time < before).limit(_PRUNED_AT_A_TIME)
    return connection.execute(delete(AUDIT).where(AUDIT.c.number.in_(old))).rowcount


def _to_row(entry: AuditEntry) -> dict[str, Any]:
    return {
        "time": entry.time,
        "who": _fit(entry.who),
        "address": entry.address[:64],
        "action": _fit(entry.action),
        "kind": entry.kind,
        "object": _fit(entry.object),
        "namespace": entry.namespace,
        "outcome": entry.outcome,
        "change": msgspec.json.encode(entry.change).decode(),
    }


def _from_row(row: Row[Any]) -> AuditEntry:
    return AuditEntry(
        who=row.who,
        address=row.address,
        action=row.action,
        kind=row.kind,
        object=row.object,
        namespace=row.namespace,
        outcome=row.outcome,
        change=msgspec.json.decode(row.change),
        time=row.time,
        number=row.number,
    )


def _fit(text: str) -> str:
    """Make a text from a caller storable: no NUL for PostgreSQL, and no lone surrogates."""
    return text[:_LONGEST].replace("\0", "\ufffd").encode(errors="replace").decode()
