"""What there was before versions were kept. It never changes: old databases are told by it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

revision = "0001"
down_revision = None

TABLES = MetaData()

Table(
    "cursor",
    TABLES,
    Column("share", Integer, primary_key=True, autoincrement=False),
    Column("cut", Text, nullable=False),
)

Table(
    "replay_cursors",
    TABLES,
    Column("replay", String(64), primary_key=True),
    Column("number", BigInteger, nullable=False),
)

Table(
    "waiting",
    TABLES,
    Column("subscription", String(64), primary_key=True),
    Column("stage", String(16), primary_key=True),
    Column("replay", String(64), primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("due", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("event", LargeBinary),
    Column("failure", Text),
    Column("share", Integer, nullable=False),
    Index("waiting_due", "share", "stage", "subscription", "due", "position"),
    Index("waiting_position", "replay", "position"),
    sqlite_with_rowid=False,
)

Table(
    "dead",
    TABLES,
    Column("subscription", String(64), primary_key=True),
    Column("stage", String(16), primary_key=True),
    Column("replay", String(64), primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("time", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("event", LargeBinary, nullable=False),
    Index("dead_position", "replay", "position"),
    Index("dead_time", "time"),
)

Table(
    "attempts",
    TABLES,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("subscription", String(64), nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("replay", String(64), nullable=False),
    Column("stage", String(16), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("time", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("verdict", String(8), nullable=False),
    Column("status", Integer),
    Column("reason", Text, nullable=False),
    Column("headers", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("attempts_time", "time"),
    Index("attempts_subscription", "subscription", "time"),
)

REDRIVES = Table(
    "redrives",
    TABLES,
    Column("id", String(64), primary_key=True),
    Column("request", Text, nullable=False),
    Column("only", Text),
    Column("state", String(9), nullable=False, index=True),
    Column("found", Integer, nullable=False),
    Column("moved", Integer, nullable=False),
    Column("slot", Float, nullable=False),
    Column("asked", Float, nullable=False),
    Column("ended", Float),
    Column("error", Text),
)

Table(
    "redrive_shares",
    TABLES,
    Column("redrive", String(64), ForeignKey(REDRIVES.c.id, ondelete="CASCADE"), primary_key=True),
    Column("share", Integer, primary_key=True, autoincrement=False),
    Column("place", Text),
    Column("done", Boolean, nullable=False),
)

Table(
    "probes",
    TABLES,
    Column("id", String(64), primary_key=True),
    Column("subscription", String(64)),
    Column("proposal", Text),
    Column("event", LargeBinary, nullable=False),
    Column("deadline", Float, nullable=False),
    Column("claim", String(36)),
    Column("outcome", Text),
)

Table(
    "delivery_status",
    TABLES,
    Column("subscription", String(64), primary_key=True),
    Column("succeeded", Float),
    Column("failed", Float),
    Column("reason", Text, nullable=False),
    Column("status", Integer),
    Column("breaker", String(16), nullable=False),
    Column("until", Float),
)


def upgrade() -> None:
    """Make them all."""
    TABLES.create_all(op.get_bind())
