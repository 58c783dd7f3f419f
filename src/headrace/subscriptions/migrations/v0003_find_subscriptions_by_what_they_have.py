"""Find subscriptions by what they have, and tell when their owners edited them last."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec
import sqlalchemy as sa
from alembic import op

if TYPE_CHECKING:
    from sqlalchemy import Row

revision = "0003"
down_revision = "0002"

_PLACE = ["first_revision", "id"]
_ROWS = sa.table(
    "subscriptions",
    *map(sa.column, ("id", "document", "paused", "ended", "revision")),
    *map(sa.column, ("protocol", "sink_digest", "state", "edited")),
)
_AT_A_TIME = 1000


def upgrade() -> None:
    """Add the columns, fill them from the documents, and let indexes find them."""
    with op.batch_alter_table("subscriptions") as table:
        table.add_column(sa.Column("protocol", sa.String(16)))
        table.add_column(sa.Column("sink_digest", sa.String(32)))
        table.add_column(sa.Column("state", sa.String(8)))
        table.add_column(sa.Column("edited", sa.BigInteger()))
    _fill()
    with op.batch_alter_table("subscriptions") as table:
        for name, kind in (
            ("protocol", sa.String(16)),
            ("sink_digest", sa.String(32)),
            ("state", sa.String(8)),
            ("edited", sa.BigInteger()),
        ):
            table.alter_column(name, existing_type=kind, nullable=False)
        table.drop_index("ix_subscriptions_namespace")
        table.create_index("subscriptions_by_place", _PLACE)
        table.create_index("subscriptions_by_namespace", ["namespace", *_PLACE])
        table.create_index("subscriptions_by_channel", ["namespace", "channel", *_PLACE])
        table.create_index("subscriptions_by_sink", ["sink_digest", *_PLACE])
        table.create_index("subscriptions_by_protocol", ["protocol", *_PLACE])
        table.create_index("subscriptions_by_state", ["state", *_PLACE])


def _fill() -> None:
    connection, last = op.get_bind(), ""
    fill = (
        sa.update(_ROWS)
        .where(_ROWS.c.id == sa.bindparam("its"))
        .values(
            {name: sa.bindparam(f"new_{name}") for name in ("protocol", "sink_digest", "state", "edited")}
        )
    )
    while True:
        query = sa.select(_ROWS).where(_ROWS.c.id > last).order_by(_ROWS.c.id).limit(_AT_A_TIME)
        rows = connection.execute(query).all()
        if not rows:
            return
        connection.execute(fill, [_filled(row) for row in rows])
        last = rows[-1].id


def _filled(row: Row[Any]) -> dict[str, Any]:
    """Return the new columns; a document that can't be read is set aside elsewhere, and found by nothing."""
    try:
        document = msgspec.json.decode(row.document)
        protocol, sink = str(document["protocol"]), str(document["sink"])
    except (msgspec.DecodeError, KeyError, TypeError):
        protocol, sink = "", ""
    return {
        "its": row.id,
        "new_protocol": protocol[:16],
        "new_sink_digest": hashlib.blake2b(sink.encode(errors="surrogatepass"), digest_size=16).hexdigest(),
        "new_state": "active" if row.ended is None and not row.paused else "ended" if row.ended else "paused",
        "new_edited": row.revision,
    }
