from dataclasses import replace

import pytest
from sqlalchemy import create_engine, text
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal
from tests.subscriptions.test_credentials import PLAIN, REFRESH

from headrace.errors import SecretsLocked
from headrace.events.positions import LogPosition
from headrace.secrets.credential import Plain
from headrace.secrets.keys import GivenKeys, KeyFile, new_key, write_key
from headrace.secrets.rotation import rotate
from headrace.subscriptions.secret_changes import changed
from headrace.subscriptions.store.secrets import SecretStore
from headrace.subscriptions.store.store import Store


@pytest.fixture
def store(database_url):
    with opening(Store, database_url) as opened:
        yield opened


@pytest.fixture
def file(tmp_path):
    return KeyFile(tmp_path / "secrets.key")


@pytest.fixture
def secret_store(database_url, store, file):
    with opening(SecretStore, database_url, file) as opened:
        yield opened


def create(store, secret_store, credential=PLAIN, **properties):
    wish = proposal(sinkCredential=credential, **properties)
    return store.create(wish, lambda: LogPosition.at(1), secret_store.writing(wish))


def rows(url):
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT subscription, key, sealed FROM secrets ORDER BY subscription")
        ).all()
    engine.dispose()
    return found


def test_secrets_are_opened_by_who_has_the_key(store, secret_store, database_url):
    created = create(store, secret_store, protocolsettings={"headers": {"x-token": "hunter2"}})
    assert created.has_secrets
    assert not created.secrets
    opened = secret_store.open(created.id)
    assert opened.secrets.credential == Plain("somebody", "hunter2")
    assert opened.secrets.headers == {"x-token": "hunter2"}
    ((_, _, sealed),) = rows(database_url)
    assert b"hunter2" not in bytes(sealed)
    assert "hunter2" not in repr([store.get(created.id), store.changes(0), listed(store), opened])


def test_nothing_of_them_is_in_clear_in_the_database(store, secret_store, database_url):
    create(
        store,
        secret_store,
        REFRESH,
        protocolsettings={"headers": {"x-token": "hunter2"}, "signing": "generate"},
    )
    engine = create_engine(database_url)
    with engine.connect() as connection:
        tables = ["subscriptions", "secrets", "channels"]
        content = "".join(str(connection.execute(text(f"SELECT * FROM {each}")).all()) for each in tables)
    engine.dispose()
    assert "hunter2" not in content
    assert "whsec_" not in content


def test_a_subscription_without_secrets_needs_no_key(store, secret_store, file):
    wish = proposal()
    created = store.create(wish, lambda: LogPosition.at(1), secret_store.writing(wish))
    assert not file.path.exists()
    with pytest.raises(SecretsLocked, match="no secrets of subscription"):
        secret_store.open(created.id)


def test_a_creation_that_fails_leaves_nothing(store, secret_store, database_url):
    wish = proposal(sinkCredential=PLAIN)

    def fail(connection):
        secret_store.writing(wish)(connection)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.create(wish, lambda: LogPosition.at(1), fail)
    assert rows(database_url) == []
    assert listed(store) == []


def test_the_end_of_a_subscription_is_the_end_of_its_secrets(store, secret_store, database_url):
    one, other = create(store, secret_store), create(store, secret_store)
    store.delete(one.id, lambda: LogPosition.at(2))
    assert [row.subscription for row in rows(database_url)] == [other.id]


def test_a_row_can_t_be_moved_to_another_subscription(store, secret_store, database_url):
    mine, theirs = create(store, secret_store), create(store, secret_store, PLAIN | {"secret": "other"})
    engine = create_engine(database_url)
    with engine.begin() as connection:
        move = "UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE subscription = :a) WHERE subscription = :b"
        connection.execute(text(move), {"a": theirs.id, "b": mine.id})
    engine.dispose()
    with pytest.raises(SecretsLocked, match="belong to another one"):
        secret_store.open(mine.id)
    assert secret_store.open(theirs.id).secrets.credential == Plain("somebody", "other")


def test_without_its_key_file_nothing_is_opened_and_nothing_lost(store, secret_store, file):
    created = create(store, secret_store)
    away = file.path.rename(file.path.with_name("away"))
    with pytest.raises(SecretsLocked, match="restore it"):
        secret_store.open(created.id)
    with pytest.raises(SecretsLocked, match=r"no key in .*secrets\.key; restore the key file"):
        create(store, secret_store)
    assert not file.path.exists()  # a new key would hide that the old one is missing
    with pytest.raises(SecretsLocked, match="restore"):
        rotate(secret_store, drop_old=False)
    assert not file.path.exists()
    away.rename(file.path)
    assert secret_store.open(created.id).secrets.credential == Plain("somebody", "hunter2")
    assert len(listed(store)) == 1


def test_another_key_is_told(store, secret_store, file):
    created = create(store, secret_store)
    file.write((new_key(),))
    with pytest.raises(SecretsLocked, match="which is not in"):
        secret_store.open(created.id)


# Refreshed tokens


def test_renewing_is_compare_and_set(store, secret_store):
    created = create(store, secret_store)
    opened = secret_store.open(created.id)
    spent, new = opened.secrets.credential, Plain("somebody", "new")
    assert secret_store.renew(created.id, spent, new)
    assert not secret_store.renew(created.id, spent, Plain("somebody", "else"))
    assert secret_store.open(created.id).secrets == replace(opened.secrets, credential=new)
    assert secret_store.open(created.id).version == opened.version + 1
    store.delete(created.id, lambda: LogPosition.at(1))
    assert not secret_store.renew(created.id, new, spent)


def test_renewing_leaves_what_its_owner_changed_meanwhile(store, secret_store):
    created = create(store, secret_store)
    spent, version = secret_store.open(created.id).secrets.credential, secret_store.open(created.id).version
    assert secret_store.claim(created.id, version, now=100.0, until=130.0)
    signed = secret_store.change(
        created.id, lambda old, secrets: changed(old, secrets, {"signing": "generate"})
    )
    after = secret_store.open(created.id)
    assert not secret_store.claim(created.id, after.version, now=120.0, until=150.0), "it is being refreshed"
    assert secret_store.renew(created.id, spent, Plain("somebody", "new"))
    assert secret_store.open(created.id).secrets == replace(
        signed.secrets, credential=Plain("somebody", "new")
    )


def test_renewing_changes_no_revision(store, secret_store):
    """Workers follow the revision, and nothing changes for them."""
    created = create(store, secret_store)
    revision, opened = store.revision(), secret_store.open(created.id)
    secret_store.renew(created.id, opened.secrets.credential, Plain("somebody", "new"))
    assert store.revision() == revision
    assert store.changes(revision) == (revision, [])


def test_one_at_a_time_may_refresh(store, secret_store):
    created = create(store, secret_store)
    version = secret_store.open(created.id).version
    assert secret_store.claim(created.id, version, now=100.0, until=130.0)
    assert not secret_store.claim(created.id, version, now=129.0, until=160.0)
    assert secret_store.claim(created.id, version, now=131.0, until=160.0)
    assert not secret_store.claim(created.id, version + 1, now=200.0, until=230.0)
    secret_store.report(created.id, version, "nobody answers")
    assert secret_store.claim(created.id, version, now=132.0, until=160.0)


def test_how_a_credential_fares(store, secret_store):
    created, _ = create(store, secret_store, REFRESH), create(store, secret_store, PLAIN)
    assert list(secret_store.statuses()) == [created.id]
    status = secret_store.statuses([created.id])[created.id]
    assert (status.expires, status.problem, status.time) == (REFRESH["accessTokenExpiresUtc"], None, None)
    version = secret_store.open(created.id).version
    secret_store.report(created.id, version, "nobody answers")
    assert secret_store.statuses()[created.id].problem == "nobody answers"
    assert secret_store.statuses()[created.id].time is not None
    credential = secret_store.open(created.id).secrets.credential
    secret_store.renew(created.id, credential, credential)
    assert secret_store.statuses()[created.id].problem is None


# Rotation


def test_rotation_keeps_everything_open(store, secret_store, file, database_url):
    made = [create(store, secret_store, PLAIN | {"secret": str(number)}) for number in range(5)]
    (old,) = file.ring()
    done = rotate(secret_store, drop_old=False)
    assert (done.resealed, done.locked, done.dropped) == (5, (), ())
    new, kept = file.ring()
    assert kept == old
    assert done.key == new.id
    assert {row.key for row in rows(database_url)} == {new.id}
    done = rotate(secret_store, drop_old=True)
    assert set(done.dropped) == {old.id, new.id}
    assert [key.id for key in file.ring()] == [done.key]
    for number, each in enumerate(made):
        assert secret_store.open(each.id).secrets.credential == Plain("somebody", str(number))
    assert secret_store.count_by_key() == {done.key: 5}


def test_a_running_service_seals_with_the_new_key(store, secret_store, file, database_url):
    create(store, secret_store)
    with opening(SecretStore, database_url, KeyFile(file.path)) as operator:
        rotate(operator, drop_old=True)
    assert len(secret_store.count_by_key()) == 1
    created = create(store, secret_store)
    assert secret_store.count_by_key() == {file.ring()[0].id: 2}
    assert secret_store.open(created.id)


def test_an_old_key_that_is_needed_is_kept(store, secret_store, file, database_url):
    create(store, secret_store)
    lost = file.ring()
    file.write((new_key(),))
    second = proposal(sinkCredential=PLAIN)
    store.create(second, lambda: LogPosition.at(1), secret_store.writing(second))
    done = rotate(secret_store, drop_old=False)
    assert done.resealed == 1
    assert len(done.locked) == 1
    file.write((*file.ring(), *lost))
    assert rotate(secret_store, drop_old=True).locked == ()
    assert secret_store.open(second.id)


def test_a_damaged_row_stops_neither_rotation_nor_gets_its_key_dropped(
    store, secret_store, file, database_url
):
    bad, good = create(store, secret_store), create(store, secret_store)
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE secrets SET sealed = :x WHERE subscription = :s"), {"x": b"rubbish", "s": bad.id}
        )
    engine.dispose()
    with pytest.raises(SecretsLocked, match=f"old keys were kept: secrets of {bad.id}"):
        rotate(secret_store, drop_old=True)
    assert len(file.ring()) == 2
    assert secret_store.count_by_key()[file.ring()[0].id] == 1
    assert secret_store.open(good.id)


def test_keys_given_by_the_configuration(store, database_url):
    old, new = new_key(), new_key()
    with opening(SecretStore, database_url, GivenKeys([write_key(old)])) as secret_store:
        created = create(store, secret_store)
    with opening(SecretStore, database_url, GivenKeys([write_key(new), write_key(old)])) as secret_store:
        assert secret_store.open(created.id)
        assert rotate(secret_store, drop_old=True).resealed == 1
    with opening(SecretStore, database_url, GivenKeys([write_key(new)])) as secret_store:
        assert secret_store.open(created.id)
