"""Let channels declare keys of their subscriptions' config."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column; channels that are there declare nothing."""
    with op.batch_alter_table("channels") as table:
        table.add_column(sa.Column("config", sa.Text()))
