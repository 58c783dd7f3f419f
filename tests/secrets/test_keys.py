import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.errors import SecretsLocked
from headrace.secrets.cipher import seal, unseal
from headrace.secrets.keys import GivenKeys, KeyFile, keys_from, new_key, write_key


@pytest.fixture
def file(tmp_path):
    return KeyFile(tmp_path / "new folder" / "secrets.key")


def test_the_first_key_is_made_for_its_owner_alone(file):
    assert file.ring() == ()
    (key,) = file.make()
    assert file.ring() == (key,)
    assert file.make() == (key,)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert file.is_private()
    assert [each.name for each in file.path.parent.iterdir()] == ["secrets.key"]


def test_of_many_that_make_it_at_once_one_wins(file):
    with ThreadPoolExecutor(8) as threads:
        rings = list(threads.map(lambda _: file.make(), range(32)))
    assert len(set(rings)) == 1
    assert len(rings[0]) == 1


def test_keys_keep_their_order(file):
    ring = (new_key(), new_key(), new_key())
    file.make()
    file.write(ring)
    assert file.ring() == ring
    assert file.is_private()
    assert keys_from(str(file.path), ()).ring() == ring
    assert keys_from(str(file.path), [write_key(ring[2])]).ring() == ring[2:]


def test_others_may_not_read_it(file):
    file.make()
    file.path.chmod(0o640)
    assert not file.is_private()


@pytest.mark.parametrize("content", ["hunter2", "aGVsbG8=", "\x00", "é" * 20])
def test_what_is_no_key_is_refused_and_not_repeated(file, content):
    file.make()
    file.path.write_text(content)
    with pytest.raises(SecretsLocked, match=r"secrets\.key has a line that is no key") as caught:
        file.ring()
    assert content not in str(caught.value)
    with pytest.raises(SecretsLocked, match=r"store\.secrets_keys"):
        GivenKeys([content])


def test_a_file_that_can_t_be_read(file):
    file.path.mkdir(parents=True)
    with pytest.raises(SecretsLocked, match="can't be read"):
        file.ring()


def test_keys_are_not_in_representations():
    key = new_key()
    assert write_key(key) not in repr(key)
    assert repr(key) == f"Key(id={key.id!r})"


def test_what_was_sealed_can_be_opened():
    old, new = new_key(), new_key()
    sealed = seal(old, "one", b"hunter2")
    assert b"hunter2" not in sealed
    assert sealed != seal(old, "one", b"hunter2")
    assert unseal((new, old), "here", old.id, "one", sealed) == b"hunter2"


def test_a_row_can_t_be_moved_or_changed():
    key = new_key()
    sealed = seal(key, "one", b"hunter2")
    for subscription, content in [
        ("two", sealed),
        ("one", sealed[:-1] + b"x"),
        ("one", b""),
        ("one", b"x" * 12),
    ]:
        with pytest.raises(SecretsLocked, match="damaged, or belong to another"):
            unseal((key,), "here", key.id, subscription, content)


def test_a_missing_key_is_named():
    key = new_key()
    with pytest.raises(SecretsLocked, match=f"the key {key.id}, which is not in /keys; restore it"):
        unseal((new_key(),), "/keys", key.id, "one", seal(key, "one", b"x"))
