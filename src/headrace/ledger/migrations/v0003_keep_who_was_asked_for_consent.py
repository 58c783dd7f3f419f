"""Keep who was asked for consent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Keep who was asked for consent."""
    op.create_table(
        "webhook_consents",
        sa.Column("place", sa.String(length=64), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("asked", sa.Float(), nullable=False),
        sa.Column("granted", sa.Float(), nullable=True),
        sa.Column("rate", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("place"),
        sa.UniqueConstraint("token"),
    )
