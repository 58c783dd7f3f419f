"""What migrations make of rows that are there."""

import shutil
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import text
from tests.opening import engine_of, opening

from headrace.subscriptions.store.query import SubscriptionQuery
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.tables import FAMILY

DOCUMENT = (
    '{{"id": "{0}", "config": {{"channel": "default/default"}}, "filters": [], "sink": "http://{0}/", '
    '"protocol": "HTTP", "protocolsettings": {{}}}}'
)


@contextmanager
def database_of(version, url, folder):
    """A connection to a new database as an earlier Headrace made it."""
    folder.mkdir()
    for script in FAMILY.scripts.glob("v*.py"):
        if script.name[1:5] <= version:
            shutil.copy(script, folder)
    engine = engine_of(url, replace(FAMILY, scripts=folder))
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def test_subscriptions_that_are_there_are_found_by_what_they_have(database_url, tmp_path):
    ended = {"active": "NULL", "paused": "NULL", "ended": "'status 410'", "broken": "NULL"}
    with database_of("0002", database_url, tmp_path / "old") as connection:
        connection.execute(text("INSERT INTO channels VALUES ('default', 'default', NULL)"))
        for number, (name, reason) in enumerate(ended.items(), start=1):
            document = "{}" if name == "broken" else DOCUMENT.format(name)
            connection.execute(
                text(
                    "INSERT INTO subscriptions VALUES (:name, 'default', 'default', :document, :created, NULL, "
                    f"FALSE, :paused, {reason}, :number, :number)"
                ),
                {
                    "name": name,
                    "document": document,
                    "created": '{"0":1}',
                    "paused": name == "paused",
                    "number": number,
                },
            )
        connection.execute(text("INSERT INTO revision VALUES (1, 4)"))
        connection.execute(text("INSERT INTO overruns VALUES ('paused', 3, 'dear', 7, '2026')"))
    with opening(Store, database_url) as store:
        for name in ("active", "paused", "ended"):
            for query in (
                SubscriptionQuery(state=name, protocol="HTTP"),
                SubscriptionQuery(sink=f"http://{name}/"),
            ):
                assert [each.id for each in store.page(query).subscriptions] == [name]
        found = store.page(SubscriptionQuery(protocol="HTTP")).subscriptions
        assert [(each.id, each.edited) for each in found] == [("active", 1), ("paused", 2), ("ended", 3)]
        assert store.overruns()["paused"].overruns == 3, "what hangs on a row stays with it"


def test_a_store_from_before_versions_gets_what_it_lacks(database_url, tmp_path):
    with database_of("0001", database_url, tmp_path / "old") as connection:
        for table in ("overruns", FAMILY.version_table):
            connection.execute(text(f"DROP TABLE {table}"))
    with opening(Store, database_url) as store:
        assert store.overruns() == {}
