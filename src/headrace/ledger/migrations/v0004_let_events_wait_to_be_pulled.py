"""Let events wait to be pulled."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Let events wait to be pulled."""
    op.create_table(
        "mailbox_losses",
        sa.Column("subscription", sa.String(length=64), nullable=False),
        sa.Column("expired", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("subscription"),
    )
    op.create_table(
        "mailboxes",
        sa.Column(
            "number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("subscription", sa.String(length=64), nullable=False),
        sa.Column("replay", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("event", sa.LargeBinary(), nullable=True),
        sa.Column("consumer", sa.String(length=32), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("handed", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("mailboxes", schema=None) as batch_op:
        batch_op.create_index(
            "mailboxes_held",
            ["subscription", "consumer"],
            unique=False,
            sqlite_where=sa.text("until > 0"),
            postgresql_where=sa.text("until > 0"),
        )
        batch_op.create_index("mailboxes_key", ["replay", "position", "subscription"], unique=True)
        batch_op.create_index("mailboxes_order", ["subscription", "number"], unique=False)
