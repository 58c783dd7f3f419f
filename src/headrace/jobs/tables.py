"""The tables behind the jobs, in the store's database."""

from __future__ import annotations

from pathlib import Path

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

from headrace.database.families import Family

METADATA = MetaData()
FAMILY = Family("jobs", METADATA, Path(__file__).with_name("migrations"))

JOBS = Table(
    "jobs",
    METADATA,
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
    Column("namespace", String(63), index=True),
    Index("jobs_due", "state", "due"),
)
"""`claim` is the token of whoever works on it. From `due` on, in seconds since the epoch, it may be taken: a worker
that lives keeps pushing it on; null means that there is nothing left to take. Without a namespace it is about all of
them."""

REPLAYS = Table(
    "replays",
    METADATA,
    Column("job", String(64), ForeignKey(JOBS.c.id, ondelete="CASCADE"), primary_key=True),
    Column("subscription", String(64), nullable=False),
    Column("rate", Float),
    Column("marked", Boolean, nullable=False),
    Column("found", BigInteger, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("delivered", BigInteger, nullable=False),
    Column("dead", BigInteger, nullable=False),
)
"""Events that a job hands to the dispatcher. The pipeline writes `found` and `complete`, the dispatcher the rest."""

CHUNKS = Table(
    "chunks",
    METADATA,
    Column("job", String(64), ForeignKey(REPLAYS.c.job, ondelete="CASCADE"), primary_key=True),
    Column("first", BigInteger, primary_key=True),
    Column("rows", Integer, nullable=False),
    Column("low", BigInteger, nullable=False),
    Column("high", BigInteger, nullable=False),
    Column("events", LargeBinary, nullable=False),
)
"""Whole events as an Arrow IPC stream. `first` counts the replay's events, not positions; `low` and `high` are the
positions between which they lie."""
