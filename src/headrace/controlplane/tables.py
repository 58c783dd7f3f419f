"""The tables behind the objects, in the store's database."""

from __future__ import annotations

from pathlib import Path

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

from headrace.database.families import Family

METADATA = MetaData()
FAMILY = Family("objects", METADATA, Path(__file__).with_name("migrations"))
_NAME = String(63).with_variant(String(63, collation="C"), "postgresql")

OBJECTS = Table(
    "objects",
    METADATA,
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
"""`generation` counts changes of the spec, `observed` is the last one that was acted upon, `revision` counts all of
them. `made_channel` says that the channel was made for the object and goes with it. `owner` is who made this one."""

REFERENCES = Table(
    "object_references",
    METADATA,
    Column("uid", String(36), ForeignKey(OBJECTS.c.uid, ondelete="CASCADE"), primary_key=True),
    Column("kind", String(64), primary_key=True),
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Index("object_references_to", "namespace", "name", "kind"),
)
"""Which objects an object names; they need not be there."""

BINDINGS = Table(
    "object_subscriptions",
    METADATA,
    Column("uid", String(36), ForeignKey(OBJECTS.c.uid, ondelete="CASCADE"), primary_key=True),
    Column("subscriber", String(64), primary_key=True),
    Column("subscription", String(64), nullable=False),
)
"""The subscription of each subscriber of an object, written in the transaction that makes the subscription."""
