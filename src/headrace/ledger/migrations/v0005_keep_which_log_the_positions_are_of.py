"""Keep which log the positions are of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Keep which log the positions are of."""
    op.create_table(
        "log_identity",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("starts", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
