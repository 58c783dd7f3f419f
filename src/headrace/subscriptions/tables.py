"""The tables behind the store."""

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
    UniqueConstraint,
)

from headrace.database.families import Family

METADATA = MetaData()
FAMILY = Family("subscriptions", METADATA, Path(__file__).with_name("migrations"))

# Ordered by bytes whatever language the server speaks.
_NAME = String(63).with_variant(String(63, collation="C"), "postgresql")

CHANNELS = Table(
    "channels",
    METADATA,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("delivery", Text),
    Column("config", Text),
)
"""`delivery` is the channel's delivery object, `config` what it declares for subscriptions' config, both as JSON."""

QUOTAS = Table(
    "quotas",
    METADATA,
    Column("namespace", _NAME, primary_key=True),
    Column("subscriptions", BigInteger),
    Column("channels", BigInteger),
    Column("events_per_second", Float),
    Column("filter_cost", BigInteger),
)
"""What a namespace may have, where that is something else than the configuration says; 0 is no limit."""

# The order in which subscriptions are listed, page by page.
_PLACE = ("first_revision", "id")

SUBSCRIPTIONS = Table(
    "subscriptions",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("namespace", _NAME, nullable=False),
    Column("channel", _NAME, nullable=False),
    Column("protocol", String(16), nullable=False),
    Column("sink_digest", String(32), nullable=False),
    Column("document", Text, nullable=False),
    Column("compiled", LargeBinary),
    Column("created", Text),
    Column("deleted", Text),
    Column("deleting", Boolean, nullable=False, default=False),
    Column("paused", Boolean, nullable=False, default=False),
    Column("ended", Text),
    Column("state", String(8), nullable=False),
    Column("revision", BigInteger, nullable=False, index=True),
    Column("first_revision", BigInteger, nullable=False),
    Column("edited", BigInteger, nullable=False),
    Index("subscriptions_by_place", *_PLACE),
    Index("subscriptions_by_namespace", "namespace", *_PLACE),
    Index("subscriptions_by_channel", "namespace", "channel", *_PLACE),
    Index("subscriptions_by_sink", "sink_digest", *_PLACE),
    Index("subscriptions_by_protocol", "protocol", *_PLACE),
    Index("subscriptions_by_state", "state", *_PLACE),
)
"""`compiled` is what the filters in `document` were compiled to (`filters/compiled.py`); null, or a form of another
version, is no fault. `created` and `deleted` are cuts of the log, as JSON. `first_revision` stays as it was at the
creation, `edited` is the revision at which what its owner gave was changed last. `ended` says why deliveries ended,
where they did; `state` follows from that and from `paused`. A digest stands for the sink, which an index may not
take."""

NO_BEGINNING = SUBSCRIPTIONS.c.created.is_(None)
NO_END = SUBSCRIPTIONS.c.deleting & SUBSCRIPTIONS.c.deleted.is_(None)
HAS_ENDED = SUBSCRIPTIONS.c.deleted.is_not(None)

# Of a hundred thousand rows a few are new or ending, and they are looked for with every change.
for _name, _which in (("beginning", NO_BEGINNING), ("ending", NO_END), ("ended", HAS_ENDED)):
    Index(f"subscriptions_{_name}", SUBSCRIPTIONS.c.revision, sqlite_where=_which, postgresql_where=_which)

OVERRUNS = Table(
    "overruns",
    METADATA,
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
    Column("event", Text),
)
"""Filters that cost more than they may, one row per subscription; it goes with the subscription or the filter. `event`
has the attributes of the last one that are shown, as JSON."""

SECRETS = Table(
    "secrets",
    METADATA,
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
"""What subscriptions must not show, encrypted with the key of this id; `version` grows with each change. Whoever
refreshes a token has claimed that until a time, in seconds since the epoch. `problem` and `time` tell of the failure
that came last."""

SET_ASIDE = Table(
    "set_aside",
    METADATA,
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
"""What could not be routed; a row stands for neighbours that failed for the same reason. The oldest rows go."""

REVISION = Table(
    "revision",
    METADATA,
    Column("only", Integer, primary_key=True),
    Column("value", BigInteger, nullable=False),
)
"""One row. Every change takes the next value, and the row's lock makes revisions visible in their order."""
