"""Keys and the record of changes. It never changes: `tables.py` is what the newest version makes."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
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

API_KEYS = Table(
    "api_keys",
    TABLES,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("grants", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires", Float),
    Column("revoked", Float),
    Column("last_used", Float),
    Column("revision", BigInteger, nullable=False, index=True),
)

AUDIT = Table(
    "audit",
    TABLES,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("time", Float, nullable=False),
    Column("who", Text, nullable=False),
    Column("address", String(64), nullable=False),
    Column("action", Text, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("object", Text, nullable=False),
    Column("namespace", String(63)),
    Column("outcome", Integer, nullable=False),
    Column("change", Text, nullable=False),
    Index("audit_time", "time"),
    Index("audit_namespace", "namespace", "number"),
)


def upgrade() -> None:
    """Make the tables."""
    TABLES.create_all(op.get_bind())
