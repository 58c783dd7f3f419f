"""Say on which event a filter cost too much."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; of what was reported before, the position is known."""
    with op.batch_alter_table("overruns") as table:
        table.add_column(sa.Column("event", sa.Text()))
