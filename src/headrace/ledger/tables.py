"""The tables behind the ledger."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()

CURSOR = Table(
    "cursor",
    METADATA,
    Column("share", Integer, primary_key=True, autoincrement=False),
    Column("cut", Text, nullable=False),
)
"""How far each share of the outbox is settled, as the JSON of a cut. The embedded outbox has one share, 0."""

REPLAY_CURSORS = Table(
    "replay_cursors",
    METADATA,
    Column("replay", String(64), primary_key=True),
    Column("number", BigInteger, nullable=False),
)
"""Every delivery of a replay's events below this number was acknowledged, waits, or lies with the dead."""

WAITING = Table(
    "waiting",
    METADATA,
    Column("subscription", String(64), primary_key=True),
    Column("replay", String(64), primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("due", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("share", Integer, nullable=False),
    Index("waiting_due", "share", "due", "subscription"),
    Index("waiting_position", "replay", "position"),
    sqlite_with_rowid=False,
)

DEAD = Table(
    "dead",
    METADATA,
    Column("subscription", String(64), primary_key=True),
    Column("replay", String(64), primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("time", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("event", LargeBinary, nullable=False),
)
"""Given up, with the whole event as structured JSON: it outlives the log's retention."""
