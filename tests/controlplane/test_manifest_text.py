import json

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from headrace.controlplane.manifest_text import read_manifests, write_manifests
from headrace.controlplane.yaml_reader import read_documents
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
        ("1: 2", "the key 1 is not a string"),
        ("a: !!python/object:os.system {}", "could not determine a constructor"),
        ("a: !!timestamp 2026-01-01", "constructor"),
        ("a: .nan", "not a JSON number"),
        ("a: !!binary aGVsbG8=", "constructor"),
        ("a: [1", "expected"),
        ("a: " + "[" * 5000, "nested too deeply"),
        (b"a: \xff\xfe", "not YAML"),
        ("a: " + "1" * 5000, "more than 100 characters"),
        ("a: 1" + ":1" * 3000, "more than 100 characters"),
        ("a: 1.0e+400", "not a JSON number"),
        ("a: 0x" + "f" * 17, "more than 64 bits"),
        ("a: !!set {b}", "constructor"),
        ("? [b]\n: c", "is not a string"),
        ("? {b: c}\n: d", "is not a string"),
        ("a: " + "- " * 5000, "not YAML"),
        ("- " * 5000, "nested too deeply"),
        ("---\na\n" * 10_001, "more than 10000 documents"),
        ("[" + "1," * 500_001 + "]", "more than 500000 values"),
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


@pytest.mark.parametrize(
    "text",
    [
        "a: 'true'\nb: \"1\"\nc: ! 1\nd: !!str 1\ne: ~\nf:\ng: yes\nh: off\ni: 1_000\nj: 0x1f\nk: 1e3\nl: 1.5e3",
        "a: |\n  x\n  y\nb: >\n  x\n  y\nc: &anchor {d: []}\n<<: {e: 1}\n=: 2",
        "- 1\n- - 2\n  - {a: [b, {c: d}], e: {}}\n- ''\n",
        "",
        "---\n...\n---\n1",
        "\ufeffa: ü\n",
    ],
)
def test_the_values_are_those_that_yaml_says(text):
    """The usual loader is the reference, but for what it makes of dates, merges and aliases."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    Loader.yaml_implicit_resolvers = {
        first: [each for each in found if not each[0].endswith((":timestamp", ":merge", ":value"))]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    assert read_documents(text) == list(yaml.load_all(text, Loader=Loader))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
        max_leaves=20,
    )
)
def test_json_is_read_as_what_it_is(value):
    assert read_documents(json.dumps([value])) == [[value]]


def test_a_bomb_of_aliases_costs_nothing():
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(InvalidManifest, match="aliases are not accepted"):
        read_manifests("\n".join(lines))


def test_libyaml_reads():
    """Without it the same texts take ten times as long."""
    assert yaml.__with_libyaml__
