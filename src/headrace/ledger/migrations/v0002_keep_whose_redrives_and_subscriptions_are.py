"""Keep whose redrives and subscriptions are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Keep whose redrives and subscriptions are."""
    op.create_table(
        "owners",
        sa.Column("subscription", sa.String(length=64), nullable=False),
        sa.Column("namespace", sa.String(length=63), nullable=False),
        sa.PrimaryKeyConstraint("subscription"),
    )
    with op.batch_alter_table("owners", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_owners_namespace"), ["namespace"], unique=False)

    with op.batch_alter_table("redrives", schema=None) as batch_op:
        batch_op.add_column(sa.Column("namespace", sa.String(length=63), nullable=True))
        batch_op.create_index(batch_op.f("ix_redrives_namespace"), ["namespace"], unique=False)
