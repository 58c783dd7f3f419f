"""A family of tables for the tests of migrations: shelves, and the books that go with them."""

from pathlib import Path

from sqlalchemy import Column, ForeignKey, Integer, MetaData, String, Table

from headrace.database.families import Family

METADATA = MetaData()
LIBRARY = Family("library", METADATA, Path(__file__).parent)

SHELVES = Table(
    "shelves",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("room", String(20), nullable=False),
)
BOOKS = Table(
    "books",
    METADATA,
    Column("title", String(80), primary_key=True),
    Column("shelf", Integer, ForeignKey(SHELVES.c.number, ondelete="CASCADE"), nullable=False),
)
