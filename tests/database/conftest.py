import pytest
from sqlalchemy import insert
from tests.opening import engine_of
from tests.subscriptions.library import LIBRARY, SHELVES

from headrace.telemetry.health import HEALTH


class Library:
    """A database of shelves, opened as all databases are."""

    def __init__(self, path):
        self.path = path
        self.engine = engine_of(f"sqlite:///{path}", LIBRARY)

    def put(self, *numbers):
        for number in numbers:
            with self.engine.begin() as connection:
                connection.execute(insert(SHELVES).values(number=number, room="hall"))

    def read(self):
        with self.engine.connect() as connection:
            return [row.number for row in connection.execute(SHELVES.select().order_by(SHELVES.c.number))]

    def close(self):
        self.engine.dispose()


@pytest.fixture
def library(tmp_path):
    """Open the library, as often as asked; all are closed at the end."""
    opened = []

    def library(path=tmp_path / "library.db"):
        opened.append(Library(path))
        return opened[-1]

    yield library
    for each in opened:
        each.close()
    HEALTH.forget("database store")
