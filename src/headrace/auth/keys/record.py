"""What is stored about a key: everything but the key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.auth.grants import granted, show_grants
from headrace.auth.principal import Principal
from headrace.auth.roles import EVERYWHERE
from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from sqlalchemy import Row

    from headrace.auth.roles import Grants


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """Times are seconds since the epoch."""

    id: str
    name: str
    digest: bytes = field(repr=False)
    grants: Grants
    created: float
    created_by: str
    expires: float | None = None
    revoked: float | None = None
    last_used: float | None = None

    @property
    def principal(self) -> Principal:
        """The principal that holds it."""
        return Principal(f"key:{self.id}", self.grants)

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces in which it grants anything; None for all."""
        return None if EVERYWHERE in self.grants else frozenset(self.grants)

    @property
    def only_namespace(self) -> str | None:
        """The only namespace in which it grants anything; None if there are several."""
        return next(iter(self.grants)) if len(self.grants) == 1 and self.namespaces else None

    def problem(self, now: float) -> str | None:
        """Return why it is no longer valid, if so."""
        if self.revoked is not None:
            return "was revoked"
        return "has expired" if self.expires is not None and self.expires <= now else None

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        times = {
            name: None if value is None else timestamp(value)
            for name, value in (
                ("created", self.created),
                ("expires", self.expires),
                ("revoked", self.revoked),
                ("lastUsed", self.last_used),
            )
        }
        shown = {"id": self.id, "name": self.name, "grants": show_grants(self.grants), **times}
        return {name: value for name, value in shown.items() if value is not None} | {
            "createdBy": self.created_by
        }


def to_row(record: KeyRecord, revision: int) -> dict[str, Any]:
    """Return the row of a new key."""
    return {
        "id": record.id,
        "name": record.name,
        "digest": record.digest,
        "grants": msgspec.json.encode(show_grants(record.grants)).decode(),
        "created": record.created,
        "created_by": record.created_by,
        "expires": record.expires,
        "revision": revision,
    }


def from_row(row: Row[Any]) -> KeyRecord:
    """Read a row. Roles unknown to this version grant nothing."""
    return KeyRecord(
        id=row.id,
        name=row.name,
        digest=bytes(row.digest),
        grants=granted(msgspec.json.decode(row.grants)),
        created=row.created,
        created_by=row.created_by,
        expires=row.expires,
        revoked=row.revoked,
        last_used=row.last_used,
    )
