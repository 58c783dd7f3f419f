"""Shelves without rooms."""

from alembic import op
from sqlalchemy import Column, ForeignKey, Integer, MetaData, String, Table

revision = "0001"
down_revision = None

TABLES = MetaData()

Table("shelves", TABLES, Column("number", Integer, primary_key=True))
Table(
    "books",
    TABLES,
    Column("title", String(80), primary_key=True),
    Column("shelf", Integer, ForeignKey("shelves.number", ondelete="CASCADE"), nullable=False),
)


def upgrade() -> None:
    TABLES.create_all(op.get_bind())
