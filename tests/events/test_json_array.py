"""A long array in parts is the array that it was."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.events.json_array import split_array

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(["\\", '"', '\\"', "[", "]}", ",", '",{']),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(VALUES), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_the_elements_of_all_parts_are_those_of_the_whole(elements, size, indent, ascii_):
    text = json.dumps(elements, indent=indent, ensure_ascii=ascii_).encode("utf-8", "surrogatepass")
    cut = [each for each in split_array(text, size) if each.text]
    found = [json.loads(each.text) for each in cut]
    assert [element for part in found for element in part] == elements
    assert len(cut) == 1 or all(found), "none is empty"
    for each in cut:
        assert not each.start or text[each.start :].startswith(each.text[1:-1])


@given(st.text(alphabet='[]{},:"\\ a1'), st.integers(1, 9))
def test_what_is_no_array_isnt_made_one(text, size):
    """Where every part is an array with elements, so is the whole."""
    encoded = text.encode()
    cut = [each for each in split_array(encoded, size) if each.text or not encoded]
    try:
        found = [msgspec.json.decode(each.text, type=list[msgspec.Raw]) for each in cut]
    except msgspec.DecodeError:
        return
    if len(cut) > 1 and not all(found):
        return
    whole = msgspec.json.decode(encoded, type=list[msgspec.Raw])
    assert len(whole) == sum(map(len, found))


@pytest.mark.parametrize(
    "text", [b"[" + b"[" * 100_000, b'["' + b"\\" * 100_001, b"[" + b"}," * 50_000, b"[" + b" " * 99_999]
)
def test_garbage_ends(text):
    assert b"".join(each.text for each in split_array(text, 1000))


def test_parts_are_about_as_long_as_asked():
    text = json.dumps([{"id": number} for number in range(10_000)]).encode()
    assert max(len(each.text) for each in split_array(text, 5000)) <= 5000 + 2
