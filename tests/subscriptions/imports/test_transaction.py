"""Many subscriptions at once: into the store, all or none."""

from dataclasses import replace

import pytest
from cryptography.exceptions import InvalidTag
from sqlalchemy import func, select
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal

from headrace.errors import Conflict, NotFound, QuotaExceeded
from headrace.events.positions import LogPosition
from headrace.secrets.keys import KeyFile
from headrace.subscriptions.imports.batch import Lot
from headrace.subscriptions.quotas.quotas import Quotas
from headrace.subscriptions.store.query import SubscriptionQuery
from headrace.subscriptions.store.secrets import SecretStore
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.tables import HAS_ENDED, NO_BEGINNING, NO_END, SECRETS, SUBSCRIPTIONS

CREDENTIAL = {"credentialType": "PLAIN", "identifier": "me", "secret": "hunter2"}


@pytest.fixture
def store(database_url):
    with opening(Store, database_url) as opened:
        yield opened


def lot_of(*proposals):
    lot = Lot()
    for each in proposals:
        lot.add(each)
    return lot


def everything(store):
    query, found = SubscriptionQuery(), []
    while True:
        page = store.page(query)
        found += page.subscriptions
        if page.next is None:
            return found
        query = replace(query, after=page.next)


def test_more_than_a_page_comes_in_and_out_as_it_was(store):
    made = [proposal(filters=[{"exact": {"type": f"t{number}"}}]) for number in range(2500)]
    with lot_of(*made) as lot:
        assert len(lot) == 2500
        assert store.create_lot(lot, lambda: LogPosition.at(7)) == 2500
    found = everything(store)
    assert {each.id: each for each in found} == {
        each.id: replace(each, created=LogPosition.at(7), edited=1) for each in made
    }
    assert len(found) == 2500
    reached, changed = store.changes(0)
    assert {each.id for each in changed} == {each.id for each in made}
    assert reached == store.revision()


def test_who_is_there_already_stays_as_it_is(store):
    first, second = proposal(types=["a"]), proposal(types=["b"])
    store.create(first, lambda: LogPosition.at(1))
    with lot_of(replace(first, types=("c",)), second) as lot:
        assert store.create_lot(lot, lambda: LogPosition.at(2)) == 1
        assert store.create_lot(lot, lambda: LogPosition.at(3)) == 0, "it may be repeated"
    assert store.get(first.id).types == ("a",)
    assert store.get(first.id).created == LogPosition.at(1)
    assert store.get(second.id).created == LogPosition.at(2)


def test_nobody_takes_the_place_of_one_that_still_ends(store):
    gone, new = proposal(), proposal()
    store.create(gone, LogPosition)
    store.delete(gone.id, LogPosition)
    with lot_of(new, gone) as lot, pytest.raises(Conflict, match=gone.id):
        store.create_lot(lot, LogPosition)
    assert listed(store) == []
    store.purge(LogPosition.at(1))
    with lot_of(new, gone) as lot:
        assert store.create_lot(lot, LogPosition) == 2


def test_all_or_none(store):
    with lot_of(proposal(), proposal("default/nowhere")) as lot, pytest.raises(NotFound, match="nowhere"):
        store.create_lot(lot, LogPosition)
    assert listed(store) == []

    def fail(*_):
        raise ZeroDivisionError

    with lot_of(proposal(), proposal(sinkCredential=CREDENTIAL)) as lot, pytest.raises(ZeroDivisionError):
        store.create_lot(lot, LogPosition, fail)
    assert listed(store) == []


def test_quotas_hold_for_all_of_them_together(database_url):
    with opening(Store, database_url, quotas=Quotas(subscriptions=3)) as store:
        store.create(proposal(), LogPosition)
        with lot_of(*(proposal() for _ in range(3))) as lot, pytest.raises(QuotaExceeded):
            store.create_lot(lot, LogPosition)
        with lot_of(proposal(), proposal()) as lot:
            assert store.create_lot(lot, LogPosition) == 2


def test_only_those_that_need_it_are_seen_again_with_their_secrets(store, database_url, tmp_path):
    plain, secret = proposal(), proposal(sinkCredential=CREDENTIAL)
    past = proposal(config={"channel": "default/default", "start": "earliest"})
    seen = []
    with (
        opening(SecretStore, database_url, KeyFile(tmp_path / "key")) as secret_store,
        lot_of(plain, secret, past) as lot,
    ):

        def also(connection, each):
            seen.append(each.id)
            secret_store.writing(each)(connection)

        store.create_lot(lot, LogPosition, also)
        assert seen == [secret.id, past.id]
        assert secret_store.open(secret.id).secrets == secret.secrets
    with store.database.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(SECRETS)).scalar() == 1


def test_what_waits_in_a_lot_can_not_be_read_from_its_file():
    with lot_of(*(proposal(sinkCredential=CREDENTIAL) for _ in range(1000))) as lot:
        lot._file.seek(0)
        content = lot._file.read()
        assert len(content) > 100_000
        assert b"hunter2" not in content
        assert b"example.com" not in content
        assert [len(page) for page in lot.pages()] == [1000]
        lot._file.seek(100)
        lot._file.write(b"!!")
        with pytest.raises(InvalidTag):
            list(lot.pages())


def test_the_pipeline_settles_all_that_wait_at_once(store):
    """Whoever created them was killed between the two steps."""
    made = [proposal() for _ in range(50)]
    with lot_of(*made) as lot, pytest.raises(ZeroDivisionError):
        store.create_lot(lot, lambda: 1 // 0)
    before = store.revision()
    store.settle(lambda: LogPosition.at(5))
    assert store.revision() == before + 1
    assert {each.created for each in listed(store)} == {LogPosition.at(5)}
    store.settle(lambda: LogPosition.at(9))
    assert store.revision() == before + 1, "nobody waits any more"


@pytest.mark.parametrize("which", [NO_BEGINNING, NO_END, HAS_ENDED], ids=["beginning", "ending", "ended"])
def test_the_few_that_begin_or_end_are_found_by_an_index(store, which):
    """Or each change would cost a look at a hundred thousand rows."""
    with lot_of(*(proposal() for _ in range(2000))) as lot:
        store.create_lot(lot, LogPosition)
    query = str(select(SUBSCRIPTIONS.c.id).where(which).compile(store.database.engine))
    with store.database.engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}").all()
        else:
            connection.exec_driver_sql("ANALYZE subscriptions")
            plan = connection.exec_driver_sql(f"EXPLAIN {query}").all()
    assert "subscriptions_" in str(plan)
