"""A subscription that becomes another one under its id."""

from dataclasses import replace

import pytest
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal
from tests.subscriptions.test_credentials import PLAIN

from headrace.errors import NotFound, SecretsLocked
from headrace.events.positions import LogPosition
from headrace.secrets.keys import KeyFile
from headrace.secrets.masks import MASK
from headrace.secrets.secrets import put_back
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.secrets import SecretStore
from headrace.subscriptions.store.store import Store


@pytest.fixture
def store(database_url):
    with opening(Store, database_url) as opened:
        yield opened


@pytest.fixture
def secret_store(database_url, store, tmp_path):
    with opening(SecretStore, database_url, KeyFile(tmp_path / "secrets.key")) as opened:
        yield opened


def at(position):
    return lambda: LogPosition.at(position)


def test_it_keeps_its_id_its_cuts_and_its_place(store):
    first, second = store.create(proposal(), at(5)), store.create(proposal(), at(6))
    store.pause(first.id)
    seen = store.revision()
    wanted = replace(
        proposal(filters=[{"exact": {"type": "a"}}], sink="https://example.com/other"), id=first.id
    )
    changed = store.replace(wanted)
    assert changed == store.get(first.id)
    assert (changed.created, changed.deleted, changed.paused) == (LogPosition.at(5), None, True)
    assert (changed.sink, changed.filters) == ("https://example.com/other", ({"exact": {"type": "a"}},))
    assert [each.id for each in store.changes(seen)[1]] == [first.id]
    assert [each.id for each in listed(store)] == [first.id, second.id]


def with_secrets(store, secret_store):
    settings = {"signing": "generate", "headers": {"x-token": "hunter2", "x-plain": "a"}}
    wish = proposal(sinkCredential=PLAIN, protocolsettings=settings)
    return store.create(wish, at(5), secret_store.writing(wish))


def test_it_keeps_its_secrets_and_what_is_shown_of_them_with_its_recipient(store, secret_store):
    made = with_secrets(store, secret_store)
    kept = secret_store.open(made.id)
    wanted = proposal(sink="https://EXAMPLE.com/other", protocolsettings={"headers": {"x-other": "b"}})
    changed = store.replace(replace(wanted, id=made.id))
    assert changed == store.get(made.id)
    assert changed.has_secrets
    assert changed.sink_credential == made.sink_credential
    assert changed.protocolsettings == {
        **wanted.protocolsettings,
        "signing": made.protocolsettings["signing"],
        "headers": {"x-other": "b", "x-token": MASK},
    }
    assert secret_store.open(made.id) == kept
    assert put_back(changed.protocolsettings, kept.secrets)["headers"] == {
        "x-other": "b",
        "x-token": "hunter2",
    }


OTHERS = [
    {"sink": "https://example.org/in"},
    {"sink": "http://example.com/in"},
    {"sink": "https://example.com:444/in"},
    {"sink": "nats://example.com", "protocol": "NATS", "protocolsettings": {"subject": "a"}},
]


@pytest.mark.parametrize("other", OTHERS, ids=["host", "scheme", "port", "protocol"])
def test_its_secrets_don_t_go_to_another_recipient(store, secret_store, other):
    made = with_secrets(store, secret_store)
    changed = store.replace(replace(proposal(**other), id=made.id))
    assert changed == store.get(made.id)
    assert not changed.has_secrets
    assert "sinkCredential" not in changed.document()
    with pytest.raises(SecretsLocked):
        secret_store.open(made.id)


def test_secrets_are_given_through_the_safe_only(store, secret_store):
    made = store.create(proposal(), at(5))
    seen = store.revision()
    with pytest.raises(ValueError, match="brings no secrets"):
        store.replace(replace(proposal(sinkCredential=PLAIN), id=made.id))
    assert (store.get(made.id), store.revision()) == (made, seen)


def test_an_edit_is_told_from_what_happens_to_it(store, secret_store):
    made = with_secrets(store, secret_store)
    store.pause(made.id)
    store.end(made.id, "status 410")
    store.resume(made.id)
    store.go_live(made.id, LogPosition.at(9), lambda _: None)
    opened = secret_store.open(made.id)
    secret_store.renew(made.id, opened.secrets.credential, opened.secrets.credential)
    assert store.get(made.id).edited == made.edited
    changed = store.replace(replace(proposal(types=["a"]), id=made.id))
    assert changed.edited == store.get(made.id).edited > made.edited


def test_that_its_sink_is_gone_is_forgotten_with_the_sink(store):
    made = store.create(proposal(), at(5))
    store.end(made.id, "status 410")
    same = replace(proposal(filters=[{"exact": {"type": "a"}}]), id=made.id)
    assert store.replace(same).ended == "status 410"
    assert store.replace(replace(proposal(sink="https://example.com/other"), id=made.id)).ended is None
    assert store.get(made.id).ended is None


def test_one_that_ended_can_t_be_changed(store):
    made = store.create(proposal(), at(5))
    store.delete(made.id, at(6))
    with pytest.raises(NotFound):
        store.replace(made)
    with pytest.raises(NotFound):
        store.replace(proposal())


def test_its_channel_stays(store):
    store.create_channel(ChannelName("team-a", "orders"))
    made = store.create(proposal(), at(5))
    with pytest.raises(NotFound):
        store.replace(replace(proposal("team-a/orders"), id=made.id))
    assert str(store.get(made.id).channel) == "default/default"
