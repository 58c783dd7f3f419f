"""The tables behind the ledger."""

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
    literal_column,
)

from headrace.database.contents import LEDGER
from headrace.database.families import Family

METADATA = MetaData()
FAMILY = Family("ledger", METADATA, Path(__file__).with_name("migrations"), LEDGER)

CURSOR = Table(
    "cursor",
    METADATA,
    Column("share", Integer, primary_key=True, autoincrement=False),
    Column("cut", Text, nullable=False),
)
"""How far each share of the outbox is settled, as the JSON of a cut. The embedded outbox has one share, 0."""

LOG_IDENTITY = Table(
    "log_identity",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("starts", BigInteger, nullable=False),
)
"""Which embedded log the positions here are of, and how often that was started: one row. Kafka's has none."""

REPLAY_CURSORS = Table(
    "replay_cursors",
    METADATA,
    Column("replay", String(64), primary_key=True),
    Column("number", BigInteger, nullable=False),
)
"""Every delivery of a replay's events below this number was acknowledged, waits, or lies with the dead."""

SETTLED = Table(
    "settled",
    METADATA,
    Column("share", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("replay", String(64), nullable=False),
    Column("pairs", LargeBinary, nullable=False),
)
"""What was settled behind the cursor, a few rows for each commit. `pairs` is MessagePack: positions by subscription."""

WAITING = Table(
    "waiting",
    METADATA,
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
    Column("order_key", String(16)),
    Index("waiting_due", "share", "stage", "subscription", "due", "position"),
    Index("waiting_position", "replay", "position"),
    sqlite_with_rowid=False,
)
"""Deliveries that are tried again. The key's order is the order of ordered subscriptions.

`event`, structured JSON, is what goes out where the log or the replay can't be asked for it: a reply, a dead letter of
a replay, a dead delivery that is taken up again. `failure` is what a dead letter says about itself. `order_key` is the
digest of its `partitionkey`, empty where it has none, and null where the subscription doesn't ask for that order.
"""

DEAD = Table(
    "dead",
    METADATA,
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
"""Given up at the stage `sink` or `reply`, with the whole event as structured JSON: it outlives the log's retention."""

ATTEMPTS = Table(
    "attempts",
    METADATA,
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
"""What came of each attempt. `number` counts them all, `attempt` those of one delivery at one stage."""

DELIVERY_STATUS = Table(
    "delivery_status",
    METADATA,
    Column("subscription", String(64), primary_key=True),
    Column("succeeded", Float),
    Column("failed", Float),
    Column("reason", Text, nullable=False),
    Column("status", Integer),
    Column("breaker", String(16), nullable=False),
    Column("until", Float),
)
"""One row for each subscription that anything was sent to. Times are seconds since the epoch."""

OWNERS = Table(
    "owners",
    METADATA,
    Column("subscription", String(64), primary_key=True),
    Column("namespace", String(63), nullable=False, index=True),
)
"""The namespace of each subscription of which there may be attempts or dead letters."""

REDRIVES = Table(
    "redrives",
    METADATA,
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
    Column("namespace", String(63), index=True),
)
"""`slot` is when the next delivery may be due, so that all dispatchers together keep to the rate. Without a namespace
it is about all of them."""

REDRIVE_SHARES = Table(
    "redrive_shares",
    METADATA,
    Column("redrive", String(64), ForeignKey(REDRIVES.c.id, ondelete="CASCADE"), primary_key=True),
    Column("share", Integer, primary_key=True, autoincrement=False),
    Column("place", Text),
    Column("done", Boolean, nullable=False),
)
"""How far each share is: the key of the last delivery that was looked at."""

PROBES = Table(
    "probes",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("subscription", String(64)),
    Column("proposal", Text),
    Column("event", LargeBinary, nullable=False),
    Column("deadline", Float, nullable=False),
    Column("claim", String(36)),
    Column("outcome", Text),
)
"""Either the id of a `subscription`, or a `proposal` as the store's rows have it. `event` is structured JSON."""

CONSENTS = Table(
    "webhook_consents",
    METADATA,
    Column("place", String(64), primary_key=True),
    Column("token", String(64), nullable=False, unique=True),
    Column("asked", Float, nullable=False),
    Column("granted", Float),
    Column("rate", Integer),
)
"""One row for each sink, origin and rate that was asked for, of which `place` is the digest. `rate` is the sink's."""

MAILBOXES = Table(
    "mailboxes",
    METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("subscription", String(64), nullable=False),
    Column("replay", String(64), nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("time", Float, nullable=False),
    Column("event", LargeBinary),
    Column("consumer", String(32), nullable=False),
    Column("until", Float, nullable=False),
    Column("handed", Integer, nullable=False),
    Index("mailboxes_order", "subscription", "number"),
    # Unique, so that what is read from the outbox again comes in once; in this order, so that the oldest is found.
    Index("mailboxes_key", "replay", "position", "subscription", unique=True),
    sqlite_autoincrement=True,
)
"""`time` is when it came in. Until the moment `until` the `consumer` holds it; `handed` counts how often one got it.

`event`, structured JSON, is there where neither the log nor a replay can be asked for it. A number is never used twice.
"""

IS_HELD = MAILBOXES.c.until > literal_column("0")
"""What consumers hold or held last. In these words, or the databases don't see that the index below has them all."""

Index(
    "mailboxes_held",
    MAILBOXES.c.subscription,
    MAILBOXES.c.consumer,
    sqlite_where=IS_HELD,
    postgresql_where=IS_HELD,
)

MAILBOX_LOSSES = Table(
    "mailbox_losses",
    METADATA,
    Column("subscription", String(64), primary_key=True),
    Column("expired", BigInteger, nullable=False),
    Column("time", Float, nullable=False),
)
"""How many events a subscription's consumers did not ask for in time, and when that happened last."""
