import pytest

from headrace.controlplane.manifest_text import read_manifests, write_manifests
from headrace.errors import InvalidManifest


def test_documents_lists_and_arrays_become_objects():
    text = "a: 1\n---\n---\nkind: List\nitems: [{b: 2}, {c: 3}]\n---\n[{d: 4}]\n"
    assert read_manifests(text) == [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}]
    assert read_manifests('{"a": [true, null, 1.5]}') == [{"a": [True, None, 1.5]}]


def test_items_are_of_the_kind_that_their_list_names():
    text = '{"apiVersion": "g/v1", "kind": "TriggerList", "metadata": {}, "items": [{"a": 1}, {"apiVersion": "g/v1beta1", "kind": "X"}, 7]}'
    assert read_manifests(text) == [
        {"apiVersion": "g/v1", "kind": "Trigger", "a": 1},
        {"apiVersion": "g/v1beta1", "kind": "X"},
        7,
    ]
    assert read_manifests("kind: Trigger\nitems: [1]") == [{"kind": "Trigger", "items": [1]}]


def test_times_stay_the_strings_that_they_are_in_json():
    assert read_manifests("a: 2026-01-01\nb: 2026-01-01T00:00:00Z") == [
        {"a": "2026-01-01", "b": "2026-01-01T00:00:00Z"}
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [1]\nb: *x", "aliases are not accepted"),
        ("a: 1\na: 2", "the key 'a' is given twice"),
        ("1: 2", "the key 1 is no string"),
        ("a: !!python/object:os.system {}", "could not determine a constructor"),
        ("a: !!timestamp 2026-01-01", "constructor"),
        ("a: .nan", "no number of JSON"),
        ("a: !!binary aGVsbG8=", "constructor"),
        ("a: [1", "expected"),
        ("a: " + "[" * 5000, "nested too deeply"),
        (b"a: \xff\xfe", "no YAML"),
    ],
)
def test_what_is_no_json_is_refused(text, reason):
    with pytest.raises(InvalidManifest, match=reason) as refused:
        read_manifests(text, "there.yaml")
    assert refused.value.faults[0][0] == "there.yaml"


def test_what_was_written_is_read_back():
    documents = [{"a": "one\ntwo\n", "b": "yes", "c": ["1", 1, None, True]}, {"d": {"e": "ü"}}]
    assert read_manifests(write_manifests(documents)) == documents
    shared = {"x": 1}
    assert "*" not in write_manifests([{"a": shared, "b": shared}])
