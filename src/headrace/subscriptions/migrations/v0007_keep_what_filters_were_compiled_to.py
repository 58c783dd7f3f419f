"""Keep what filters were compiled to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column; what is there already is compiled when it is needed."""
    with op.batch_alter_table("subscriptions") as table:
        table.add_column(sa.Column("compiled", sa.LargeBinary()))
