"""API keys: their form, their store, and the copy that every process has."""

import asyncio
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.opening import opening

from headrace.auth.audit.entries import AuditQuery, by_command
from headrace.auth.audit.log import AuditLog
from headrace.auth.keys.key import new_key, read_key
from headrace.auth.keys.record import KeyRecord
from headrace.auth.keys.ring import KeyRing
from headrace.auth.keys.store import KeyStore
from headrace.auth.roles import Role
from headrace.database.database import Database
from headrace.errors import ConfigError, Conflict, NotFound, Unauthenticated
from headrace.subscriptions.store.store import Store

_ENTRY = by_command("keys create", "key", "x", None)


def _record(key, **members):
    return KeyRecord(
        key.id, "ci", key.digest, {"shop": frozenset({Role.PUBLISH})}, time.time(), "test", **members
    )


@pytest.fixture
def keys(database_url):
    Store(Database(database_url)).database.close()
    with opening(KeyStore, database_url) as opened:
        yield opened


def test_a_key_can_be_told_by_its_form():
    key = new_key()
    assert key.text.startswith(f"hr_{key.id}_")
    assert len(key.text) == 63
    assert read_key(key.text) == key
    assert key.text not in repr(key), "what is logged gets copied"
    assert new_key().text != key.text


@given(st.integers(0, 62), st.sampled_from("0aZ_é"))
def test_a_slip_of_the_hand_is_noticed(place, character):
    text = new_key().text
    slipped = text[:place] + character + text[place + 1 :]
    assert (read_key(slipped) is None) == (slipped != text)


def test_the_store_keeps_no_key(keys, database_url):
    key = new_key()
    keys.add(_record(key), _ENTRY)
    kept = keys.get(key.id)
    assert kept.grants == {"shop": {Role.PUBLISH}}
    assert kept.digest == key.digest
    assert key.text not in repr(kept)
    assert key.text not in str(kept.document())
    assert "digest" not in kept.document()


def test_a_key_is_revoked_once_and_for_ever(keys):
    key = new_key()
    keys.add(_record(key), _ENTRY)
    assert keys.revoke(key.id, _ENTRY).revoked is not None
    with pytest.raises(Conflict):
        keys.revoke(key.id, _ENTRY)
    with pytest.raises(NotFound):
        keys.revoke("nobody", _ENTRY)


def test_what_is_done_with_keys_is_recorded_in_the_same_transaction(keys, database_url):
    key = new_key()
    keys.add(_record(key), replace(_ENTRY, object=key.id))
    keys.revoke(key.id, replace(_ENTRY, action="keys revoke", object=key.id))
    with pytest.raises(Conflict):
        keys.revoke(key.id, replace(_ENTRY, action="again", object=key.id))
    with opening(AuditLog, database_url) as log:
        found = log.find(AuditQuery(object=key.id))
    assert [each.action for each in found] == ["keys revoke", "keys create"]


def test_a_ring_knows_who_holds_a_key(keys):
    key, other = new_key(), new_key()
    keys.add(_record(key), _ENTRY)
    ring = KeyRing(keys)
    assert ring.holder(key.text).id == f"key:{key.id}"
    with pytest.raises(Unauthenticated, match="is unknown"):
        ring.holder(other.text)
    same_name = _with_id(other, key.id)
    with pytest.raises(Unauthenticated, match="is unknown"):
        ring.holder(same_name)
    with pytest.raises(Unauthenticated, match="mistyped"):
        ring.holder(key.text[:-1])


def _with_id(key, key_id):
    """Return a key of the right form with another one's id."""
    from headrace.auth.keys.key import _check

    body = f"hr_{key_id}_{key.text[14:-6]}"
    return body + _check(body)


def test_a_key_expires(keys):
    key = new_key()
    keys.add(_record(key, expires=time.time() + 0.2), _ENTRY)
    ring = KeyRing(keys)
    ring.holder(key.text)
    time.sleep(0.25)
    with pytest.raises(Unauthenticated, match="has expired"):
        ring.holder(key.text)


async def test_what_another_process_revokes_is_known_within_a_second(keys, database_url):
    key, late = new_key(), new_key()
    keys.add(_record(key), _ENTRY)
    ring = KeyRing(keys)
    following = asyncio.create_task(ring.follow(0.1))
    with opening(KeyStore, database_url) as elsewhere:
        elsewhere.add(_record(late), _ENTRY)
        elsewhere.revoke(key.id, _ENTRY)
    await asyncio.sleep(1.0)
    following.cancel()
    assert ring.holder(late.text)
    with pytest.raises(Unauthenticated, match="was revoked"):
        ring.holder(key.text)


async def test_use_is_noted_now_and_then(keys):
    key = new_key()
    keys.add(_record(key), _ENTRY)
    ring = KeyRing(keys)
    for _ in range(3):
        ring.holder(key.text)
    assert keys.get(key.id).last_used is None
    revision, _ = keys.changes(-1)
    await ring.note_used()
    assert keys.get(key.id).last_used == pytest.approx(time.time(), abs=5)
    assert keys.changes(revision) == (revision, []), "nobody has to learn the keys anew for it"


def test_keys_of_the_configuration_may_do_everything(keys):
    key = new_key()
    ring = KeyRing(keys, [key.text])
    assert ring.holder(key.text).may_everywhere(Role.ADMIN)
    with pytest.raises(Unauthenticated):
        ring.holder(new_key().text)
    with pytest.raises(ConfigError) as refused:
        KeyRing(keys, ["hr_mistyped"])
    assert "mistyped" not in str(refused.value)
