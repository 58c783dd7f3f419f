"""What there was before versions were kept. It never changes: old databases are told by it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
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

OBJECTS = Table(
    "objects",
    TABLES,
    Column("uid", String(36), primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("version", String(16), nullable=False),
    Column("namespace", _NAME, nullable=False),
    Column("name", _NAME, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("conditions", Text, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("observed", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("created", String(24), nullable=False),
    Column("made_channel", Boolean, nullable=False),
    Column("owner", String(36)),
    UniqueConstraint("kind", "namespace", "name"),
    Index("objects_by_name", "namespace", "name"),
)

Table(
    "object_references",
    TABLES,
    Column("uid", String(36), ForeignKey(OBJECTS.c.uid, ondelete="CASCADE"), primary_key=True),
    Column("kind", String(64), primary_key=True),
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Index("object_references_to", "namespace", "name", "kind"),
)

Table(
    "object_subscriptions",
    TABLES,
    Column("uid", String(36), ForeignKey(OBJECTS.c.uid, ondelete="CASCADE"), primary_key=True),
    Column("subscriber", String(64), primary_key=True),
    Column("subscription", String(64), nullable=False),
)


def upgrade() -> None:
    """Make them all."""
    TABLES.create_all(op.get_bind())
