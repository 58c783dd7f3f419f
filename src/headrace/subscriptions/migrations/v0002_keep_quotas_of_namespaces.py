"""Keep quotas of namespaces."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Keep quotas of namespaces."""
    op.create_table(
        "quotas",
        sa.Column(
            "namespace",
            sa.String(length=63).with_variant(sa.String(length=63, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("subscriptions", sa.BigInteger(), nullable=True),
        sa.Column("channels", sa.BigInteger(), nullable=True),
        sa.Column("events_per_second", sa.Float(), nullable=True),
        sa.Column("filter_cost", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("namespace"),
    )
