"""Web hooks that were asked for consent and may give it later, by calling an address that only they were told.

The dispatcher writes down whom it asks, the API takes note of who agreed, and the dispatcher finds it at its next look.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import delete, func, select, update

from headrace.database.rows import insert_rows
from headrace.ledger.tables import CONSENTS

if TYPE_CHECKING:
    from sqlalchemy import Connection

PATH = "/webhooks/consents/{token}"
"""Where the API takes a sink's consent."""


class Asked(NamedTuple):
    """`token` is the secret part of the address; `granted` is when the sink agreed, and `rate` what it allowed then."""

    token: str
    granted: float | None
    rate: int | None


def ask(connection: Connection, sink: str, origin: str, rate: int | None) -> Asked:
    """Return what is known of a sink, and write down that it is asked now."""
    place = hashlib.sha256(msgspec.json.encode([sink, origin, rate])).hexdigest()
    new = (place, secrets.token_urlsafe(32), time.time())
    insert_rows(connection, CONSENTS, ("place", "token", "asked"), [new], but_known=True)
    connection.execute(update(CONSENTS).where(CONSENTS.c.place == place).values(asked=time.time()))
    row = connection.execute(select(CONSENTS).where(CONSENTS.c.place == place)).one()
    return Asked(row.token, row.granted, row.rate)


def grant(connection: Connection, token: str, rate: int | None) -> bool:
    """Take note that a sink agreed; False where nobody was told this token."""
    its = update(CONSENTS).where(CONSENTS.c.token == token)
    return bool(connection.execute(its.values(granted=time.time(), rate=rate)).rowcount)


def prune(connection: Connection, before: float) -> int:
    """Forget sinks that were neither asked nor agreed since a time; return how many."""
    last = func.coalesce(CONSENTS.c.granted, 0.0)
    return connection.execute(delete(CONSENTS).where(CONSENTS.c.asked < before, last < before)).rowcount
