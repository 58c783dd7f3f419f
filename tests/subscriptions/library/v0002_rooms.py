"""A room for each shelf."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    with op.batch_alter_table("shelves") as shelves:
        shelves.add_column(sa.Column("room", sa.String(20)))
    op.execute("UPDATE shelves SET room = 'hall'")
    with op.batch_alter_table("shelves") as shelves:  # on SQLite a copy, which the shelf's books must survive
        shelves.alter_column("room", existing_type=sa.String(20), nullable=False)
