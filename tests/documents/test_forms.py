"""What is checked and what is described are the same declaration."""

from typing import Any

import jsonschema_rs
import pytest

from headrace.documents.forms import Form, Member, refuse
from headrace.documents.kinds import any_text, flag, kind_of, mapping, one_of, text, whole
from headrace.errors import InvalidRequest

FORM = Form(
    "Wish",
    {
        "name": Member(text(5, "[a-z]+", "a word"), "Whose it is.", is_required=True),
        "count": Member(whole(1, 9), default=3),
        "mode": Member(one_of("a", "b"), default="a"),
        "is_dry": Member(flag, default=False),
        "note": Member(any_text("a text"), takes_null=True),
        "labels": Member(mapping(text(3), whole(0, 1), "a map of texts to numbers")),
        "twice": Member(kind_of({"type": "integer"}, lambda value, path, faults: value * 2)),
    },
)
GOOD = [
    {"name": "x"},
    {"name": "x", "count": 9, "mode": "b", "is_dry": True, "note": None, "labels": {"a": 1}, "twice": 4},
    {"name": "abcde", "count": 5.0, "note": "", "labels": {}},
]
BAD: dict[str, list[Any]] = {
    "name": [1, "", "X", "abcdef", None],
    "count": [0, 10, 1.5, "3", True, None],
    "mode": ["c", 1, None],
    "is_dry": [0, "true", None],
    "note": [1],
    "labels": [[], {"a": 2}, {"long": 1}],
}
CHECK = jsonschema_rs.Draft202012Validator(FORM.schema.schema)


@pytest.mark.parametrize("document", GOOD)
def test_what_is_taken_is_described(document):
    assert FORM.read(document)[1] == []
    assert CHECK.is_valid(document)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_what_is_refused_is_described_as_such(name, value):
    document = {"name": "x", name: value}
    _, faults = FORM.read(document)
    assert [path.split(".")[0] for path, _ in faults] == [name]
    assert not CHECK.is_valid(document)


def test_values_have_their_defaults_and_their_normal_form():
    read, _ = FORM.read({"name": "x", "count": 5.0, "twice": 4})
    assert read == {
        "name": "x", "count": 5, "mode": "a", "is_dry": False, "note": None, "labels": None, "twice": 8
    }  # fmt: skip


def test_every_fault_is_listed():
    _, faults = FORM.read({"other": 1, "count": 0, "labels": {"a": 5}})
    assert [path for path, _ in faults] == ["other", "name", "count", "labels.a"]
    with pytest.raises(InvalidRequest):
        refuse(faults)


def test_what_is_no_object_is_refused():
    with pytest.raises(InvalidRequest, match="name, count"):
        FORM.read([])


def test_defaults_and_descriptions_are_shown():
    properties = FORM.schema.schema["properties"]
    assert properties["name"]["description"] == "Whose it is."
    assert (properties["count"]["default"], properties["is_dry"]["default"]) == (3, False)
    assert FORM.schema.schema["required"] == ["name"]
