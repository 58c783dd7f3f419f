"""Keep the order of what waits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Keep the order of what waits."""
    op.add_column("waiting", sa.Column("order_key", sa.String(length=16)))
