"""Which file a URL names: the same that SQLAlchemy opens."""

from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from headrace.database.sqlite.locations import sqlite_path

URLS = [
    "sqlite:///relative.db",
    "sqlite:////absolute/folder/a.db",
    "sqlite:////with space/ä.db",
    "sqlite:////percent%20sign.db",
    "sqlite+pysqlite:////a.db",
    "sqlite:////a.db?timeout=5",
    "sqlite:////a#b.db",
    "sqlite:////a@b:c.db",
    "sqlite://user:pass/word@/a.db",
    "sqlite://host/a.db",
    "sqlite:///:memory:",
    "sqlite:///",
    "sqlite://",
    "sqlite:///?cache=shared",
    "sqlite:/a.db",
    "sqlitex:////a.db",
    "postgresql://user:secret@host:5432/sqlite",
    "postgresql+psycopg://host/sqlite:///a.db",
    "/a/plain/path.db",
    "",
]


@pytest.mark.parametrize("url", URLS)
def test_the_file_is_the_one_that_sqlalchemy_opens(url):
    try:
        parsed = make_url(url)
    except ArgumentError:
        expected = None
    else:
        is_file = parsed.get_backend_name() == "sqlite" and parsed.database not in {None, "", ":memory:"}
        expected = Path(str(parsed.database)).absolute() if is_file else None
    assert sqlite_path(url) == expected
