"""Keep whose jobs are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Keep whose jobs are."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("namespace", sa.String(length=63), nullable=True))
        batch_op.create_index(batch_op.f("ix_jobs_namespace"), ["namespace"], unique=False)
