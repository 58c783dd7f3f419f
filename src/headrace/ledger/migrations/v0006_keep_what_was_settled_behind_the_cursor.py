"""Keep what was settled behind the cursor."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Keep what was settled behind the cursor."""
    op.create_table(
        "settled",
        sa.Column("share", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("replay", sa.String(length=64), nullable=False),
        sa.Column("pairs", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("share", "number"),
    )
