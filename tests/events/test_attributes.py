from typing import Any

import pytest

from headrace.events import OFFICIAL, OFFICIAL_BY_VERSION, faults

V1 = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
V03 = {**V1, "specversion": "0.3"}


def faults_with(changes: dict[str, Any], base: dict[str, str] = V1) -> list[str]:
    return faults({**base, **changes})


def test_valid_events_have_no_faults():
    assert faults(V1) == []
    assert faults(V03) == []
    assert (
        faults_with(
            {
                "subject": "ünïcode and blanks",
                "time": "2018-04-05T17:31:00.5+02:00",
                "datacontenttype": 'text/plain; charset="utf-8"',
                "dataschema": "urn:example:schema",
                "text": "",
                "flag": True,
                "least": -(2**31),
                "most": 2**31 - 1,
                "0digits9": "x",
            }
        )
        == []
    )


@pytest.mark.parametrize("name", ["id", "source", "type", "specversion"])
def test_required_attributes(name):
    attributes = {key: value for key, value in V1.items() if key != name}
    assert faults(attributes) == [f"attribute '{name}' is missing"]
    assert faults_with({name: ""}) == [f"attribute '{name}' must not be empty: ''"]


def test_every_fault_is_listed():
    found = faults({"specversion": "2.0", "id": 5, "source": "a b", "time": "now", "Bad-Name": "x", "n": 1.5})
    assert found == [
        "attribute 'type' is missing",
        "attribute 'specversion' must be one of the versions '1.0' and '0.3': '2.0'",
        "attribute 'id' must be a string, not an integer: 5",
        "attribute 'source' must be a URI reference, without blanks and any of <>\"{}|\\^`: 'a b'",
        "attribute 'time' must be an RFC 3339 timestamp such as 2018-04-05T17:31:00Z: 'now'",
        "attribute 'Bad-Name' has a name with characters other than a-z and 0-9: 'x'",
        "attribute 'n' must be a string, a boolean or an integer, not a fraction: 1.5",
    ]


@pytest.mark.parametrize("name", sorted(OFFICIAL_BY_VERSION["1.0"]))
@pytest.mark.parametrize(
    ("value", "kind"), [(5, "an integer"), (True, "a boolean"), ({}, "an object"), (None, "null")]
)
def test_official_attributes_are_strings(name, value, kind):
    assert faults_with({name: value}) == [f"attribute '{name}' must be a string, not {kind}: {value!r}"]


@pytest.mark.parametrize("version", ["2.0", "1", "1.0.2", "0.2", "v1.0", "1.0 "])
def test_unknown_versions(version):
    assert len(faults_with({"specversion": version})) == 1


@pytest.mark.parametrize(
    "name", ["Foo", "foo-bar", "foo_bar", "föö", "", "foo.bar", "a\n", "dataContentType", "٣"]
)
def test_names(name):
    (fault,) = faults_with({name: "x"})
    assert "a-z and 0-9" in fault


@pytest.mark.parametrize("base", [V1, V03])
@pytest.mark.parametrize("name", ["data", "data_base64"])
def test_data_is_no_extension(name, base):
    (fault,) = faults_with({name: "x"}, base)
    assert "belongs to the event's data" in fault


@pytest.mark.parametrize("value", [1.5, 2**31, -(2**31) - 1, {"a": 1}, [1], None, b"x"])
def test_extensions_of_1_0_are_strings_booleans_and_small_integers(value):
    assert len(faults_with({"ext": value})) == 1


@pytest.mark.parametrize("value", [1.5, {"a": [1, {"b": None}]}, [1], "x", True, 5])
def test_extensions_of_0_3_may_be_json(value):
    assert faults_with({"ext": value}, V03) == []


@pytest.mark.parametrize("value", [2**31, None, b"x", "\x00"])
def test_extensions_of_0_3_have_limits(value):
    assert len(faults_with({"ext": value}, V03)) == 1


def test_nesting_of_0_3_extensions_is_limited():
    def nested(levels: int) -> Any:
        return [nested(levels - 1)] if levels else 1

    assert faults_with({"ext": nested(32)}, V03) == []
    (fault,) = faults_with({"ext": nested(33)}, V03)
    assert "deeper than 32" in fault


@pytest.mark.parametrize("name", ["id", "type", "subject", "source", "ext"])
@pytest.mark.parametrize(
    "code",
    [0, 0xA, 0x1F, 0x7F, 0x80, 0x9F, 0xD800, 0xDFFF, 0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFF, 0x10FFFE],
)
def test_forbidden_characters(name, code):
    (fault,) = faults_with({name: f"a{chr(code)}b"})
    assert f"'{name}'" in fault
    assert f"U+{code:04X}" in fault


@pytest.mark.parametrize(
    "character", [" ", "~", "\xa0", "é", "€", "\ufdcf", "\ufdf0", "\ufffd", "\U0001f600", "\U0010fffd"]
)
def test_allowed_characters(character):
    assert faults_with({"id": f"a{character}b", "subject": character}) == []


@pytest.mark.parametrize(
    "source",
    [
        "/s",
        "https://example.com/a?b#c",
        "urn:uuid:1",
        "a",
        "#f",
        "//host/x",
        "/ünï/✓",
        "1-555-123-4567",
        "a%20b",
    ],
)
def test_sources(source):
    assert faults_with({"source": source}) == []


@pytest.mark.parametrize("source", ["a b", " ", *(f"/a{c}b" for c in '<>"{}|\\^`'), "/a\tb"])
def test_not_sources(source):
    assert len(faults_with({"source": source})) == 1


@pytest.mark.parametrize("schema", ["/relative", "schema.json", "//host/x", ":x", "1a:b", "http://a b", ""])
def test_dataschema_is_an_absolute_uri(schema):
    assert len(faults_with({"dataschema": schema})) == 1


def test_empty_optional_attributes():
    assert faults_with({"subject": ""}) == ["attribute 'subject' must not be empty: ''"]
    assert faults_with({"datacontenttype": ""}) == ["attribute 'datacontenttype' must not be empty: ''"]


def test_datacontenttype():
    assert faults_with({"datacontenttype": "json"}) == [
        "attribute 'datacontenttype' must be a media type such as application/json: 'json'"
    ]


def test_attributes_of_0_3():
    assert faults_with({"schemaurl": "relative/is/fine", "datacontentencoding": "Base64"}, V03) == []
    assert len(faults_with({"schemaurl": "a b"}, V03)) == 1
    assert len(faults_with({"datacontentencoding": 5}, V03)) == 1
    assert faults_with({"schemaurl": 5, "datacontentencoding": True}) == []  # plain extensions in 1.0
    assert faults_with({"dataschema": "not checked"}, V03) == []  # a plain extension in 0.3
    assert len(faults_with({"dataschema": 5}, V03)) == 1  # but it shares the column of 1.0


def test_long_values_are_cut():
    (fault,) = faults_with({"source": " " * 100_000})
    assert len(fault) < 200
    (fault,) = faults_with({"X" * 100_000: "y" * 100_000})
    assert len(fault) < 250
    (fault,) = faults_with({"ext": ["y" * 100_000]})
    assert len(fault) < 250


def test_official_names():
    assert "subject" in OFFICIAL
    assert "schemaurl" in OFFICIAL
    assert "schemaurl" not in OFFICIAL_BY_VERSION["1.0"]
    assert "dataschema" not in OFFICIAL_BY_VERSION["0.3"]
    assert "data" not in OFFICIAL
