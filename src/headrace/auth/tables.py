"""The tables of keys and the audit log, in the store's database."""

from __future__ import annotations

from pathlib import Path

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

from headrace.database.families import Family

METADATA = MetaData()
FAMILY = Family("auth", METADATA, Path(__file__).with_name("migrations"))

API_KEYS = Table(
    "api_keys",
    METADATA,
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
"""Only the `digest` of a key is stored; `grants` is a JSON document. Times are seconds since the epoch. A change of a
key gets a new `revision`, its use doesn't."""

AUDIT = Table(
    "audit",
    METADATA,
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
"""Changes and attempted changes. `change` is a document of names and digests, never of values. Without a namespace an
entry concerns all of them."""
