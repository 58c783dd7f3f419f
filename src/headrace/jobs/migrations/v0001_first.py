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

JOBS = Table(
    "jobs",
    TABLES,
    Column("id", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("subscription", String(64), index=True),
    Column("request", Text, nullable=False),
    Column("state", String(9), nullable=False),
    Column("progress", Float, nullable=False),
    Column("note", Text, nullable=False),
    Column("result", Text),
    Column("error", Text),
    Column("memory", Text, nullable=False),
    Column("asked", String(24), nullable=False),
    Column("ended", String(24)),
    Column("claim", String(36)),
    Column("due", Float),
    Index("jobs_due", "state", "due"),
)

REPLAYS = Table(
    "replays",
    TABLES,
    Column("job", String(64), ForeignKey(JOBS.c.id, ondelete="CASCADE"), primary_key=True),
    Column("subscription", String(64), nullable=False),
    Column("rate", Float),
    Column("marked", Boolean, nullable=False),
    Column("found", BigInteger, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("delivered", BigInteger, nullable=False),
    Column("dead", BigInteger, nullable=False),
)

Table(
    "chunks",
    TABLES,
    Column("job", String(64), ForeignKey(REPLAYS.c.job, ondelete="CASCADE"), primary_key=True),
    Column("first", BigInteger, primary_key=True),
    Column("rows", Integer, nullable=False),
    Column("low", BigInteger, nullable=False),
    Column("high", BigInteger, nullable=False),
    Column("events", LargeBinary, nullable=False),
)


def upgrade() -> None:
    """Make them all."""
    TABLES.create_all(op.get_bind())
