"""The tables of objects, in the store's database."""

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
"""`generation` counts changes of the spec, `observed` is the last reconciled one, `revision` counts all changes.
`made_channel`: the channel was created for the object, and is deleted with it. `owner` is the uid of its owner."""

REFERENCES = Table(
    "object_references",
    METADATA,
    Column("uid", String(36), ForeignKey(OBJECTS.c.uid, ondelete="CASCADE"), primary_key=True),
    Column("kind", String(64), primary_key=True),
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Index("object_references_to", "namespace", "name", "kind"),
)
"""The objects to which an object refers; they need not exist."""

BINDINGS = Table(
    "object_subscriptions",
    METADATA,
    Column("uid", String(36), ForeignKey(OBJECTS.c.uid, ondelete="CASCADE"), primary_key=True),
    Column("subscriber", String(64), primary_key=True),
    Column("subscription", String(64), nullable=False),
)
"""The subscription of each subscriber of an object, stored in the transaction that creates the subscription."""
