"""Indexes of the few subscriptions that are new or end."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_WHICH = {
    "beginning": ("created IS NULL", "created IS NULL"),
    "ending": ("deleting = 1 AND deleted IS NULL", "deleting AND deleted IS NULL"),
    "ended": ("deleted IS NOT NULL", "deleted IS NOT NULL"),
}


def upgrade() -> None:
    """Add them."""
    for name, (sqlite, postgresql) in _WHICH.items():
        op.create_index(
            f"subscriptions_{name}",
            "subscriptions",
            ["revision"],
            sqlite_where=sa.text(sqlite),
            postgresql_where=sa.text(postgresql),
        )
