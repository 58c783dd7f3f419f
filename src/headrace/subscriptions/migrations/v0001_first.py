"""What there was before versions were kept. It never changes: old databases are told by it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

revision = "0001"
down_revision = None

TABLES = MetaData()

_NAME = String(63).with_variant(String(63, collation="C"), "postgresql")

Table(
    "channels",
    TABLES,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("delivery", Text),
)

SUBSCRIPTIONS = Table(
    "subscriptions",
    TABLES,
    Column("id", String(64), primary_key=True),
    Column("namespace", _NAME, nullable=False, index=True),
    Column("channel", _NAME, nullable=False),
    Column("document", Text, nullable=False),
    Column("created", Text),
    Column("deleted", Text),
    Column("deleting", Boolean, nullable=False, default=False),
    Column("paused", Boolean, nullable=False, default=False),
    Column("ended", Text),
    Column("revision", BigInteger, nullable=False, index=True),
    Column("first_revision", BigInteger, nullable=False),
)

Table(
    "overruns",
    TABLES,
    Column(
        "subscription",
        String(64),
        ForeignKey(SUBSCRIPTIONS.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("times", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("time", String(24), nullable=False),
)

Table(
    "secrets",
    TABLES,
    Column(
        "subscription",
        String(64),
        ForeignKey(SUBSCRIPTIONS.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("key", String(16), nullable=False, index=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("claimed_until", Float, nullable=False, default=0.0),
    Column("expires", String(24)),
    Column("problem", Text),
    Column("time", String(24)),
)

Table(
    "set_aside",
    TABLES,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("namespace", String(63)),
    Column("channel", String(63)),
    Column("subscription", String(64), nullable=False),
    Column("reason", Text, nullable=False),
    Column("time", String(24), nullable=False),
    UniqueConstraint("kind", "position", "subscription"),
)

Table(
    "revision",
    TABLES,
    Column("only", Integer, primary_key=True),
    Column("value", BigInteger, nullable=False),
)


def upgrade() -> None:
    """Make them all."""
    TABLES.create_all(op.get_bind())
