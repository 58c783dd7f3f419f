"""The required dialects of the Subscriptions API, against a definition of their own."""

import re

import pytest
from hypothesis import example, given
from tests.examples import examples
from tests.filters.strategies import events, filters

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.filters import compile_filter


def holds(spec, attributes):
    """What the Subscriptions API says, with nothing in common with the code under test."""
    ((dialect, body),) = spec.items()
    tests = {
        "exact": lambda text, wanted: text == wanted,
        "prefix": lambda text, wanted: text[: len(wanted)] == wanted,
        "suffix": lambda text, wanted: text[-len(wanted) :] == wanted,
    }
    if dialect == "all":
        return all(holds(part, attributes) for part in body)
    if dialect == "any":
        return any(holds(part, attributes) for part in body)
    if dialect == "not":
        return not holds(body, attributes)
    return all(
        name in attributes and tests[dialect](text_of(attributes[name]), text) for name, text in body.items()
    )


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@examples(500)
@given(filters, events())
@example({"not": {"exact": {"subject": "a"}}}, Event(attributes={"type": "t"}))
@example({"exact": {"count": "42"}}, Event(attributes={"count": 42}))
def test_means_what_the_specification_says(spec, event):
    assert compile_filter(spec).matches(event) is holds(spec, event.attributes)


@given(filters, filters, events())
def test_a_list_means_all(first, second, event):
    assert compile_filter([first, second]).matches(event) is (
        holds(first, event.attributes) and holds(second, event.attributes)
    )


REFUSED = [
    # spec, path, what the message must say
    ([{"exact": {"type": 42}}], "filters[0].exact.type", "not 42"),
    ([{"exact": {"type": ""}}], "filters[0].exact.type", "not ''"),
    ([{"prefix": {"type": None}}], "filters[0].prefix.type", "not None"),
    ([{"suffix": {"type": ["a"]}}], "filters[0].suffix.type", "not ['a']"),
    ([{"exact": {"": "x"}}], "filters[0].exact", "not ''"),
    ([{"exact": {"Type": "x"}}], "filters[0].exact", "not 'Type'"),
    ([{"exact": {"my-ext": "x"}}], "filters[0].exact", "not 'my-ext'"),
    ([{"exact": {"type\n": "x"}}], "filters[0].exact", r"not 'type\n'"),
    ([{"exact": {"data": "x"}}], "filters[0].exact", "event's data"),
    ([{"exact": {1: "x"}}], "filters[0].exact", "not 1"),
    ([{"exact": {"type": "\ud800"}}], "filters[0].exact.type", "surrogate"),
    ([{"exact": {}}], "filters[0].exact", "at least one"),
    ([{"exact": []}], "filters[0].exact", "not []"),
    ([{"exact": "type"}], "filters[0].exact", "not 'type'"),
    ([{"all": []}], "filters[0].all", "at least one filter"),
    ([{"any": []}], "filters[0].any", "at least one filter"),
    ([{"any": {"exact": {"type": "t"}}}], "filters[0].any", "an array"),
    ([{"all": "ab"}], "filters[0].all", "not 'ab'"),
    ([{"not": []}], "filters[0].not", "exactly one key"),
    ([{"not": [{"exact": {"type": "t"}}]}], "filters[0].not", "exactly one key"),
    (
        [{"exact": {"type": "t"}}, {"all": [{"exact": {"type": "t"}}, {"exact": {"type": 0}}]}],
        "filters[1].all[1].exact.type",
        "not 0",
    ),
    ([{"not": {"any": [{"exact": {"id": False}}]}}], "filters[0].not.any[0].exact.id", "not False"),
    ({"exact": {"type": 1}}, "filter.exact.type", "not 1"),
]


@pytest.mark.parametrize(("spec", "path", "says"), REFUSED)
def test_refuses_with_the_path_to_the_fault(spec, path, says):
    with pytest.raises(FilterError, match=re.escape(says)) as refusal:
        compile_filter(spec)
    assert refusal.value.path == path
    assert str(refusal.value).startswith(f"{path}: ")


def test_an_error_carries_the_offending_value():
    with pytest.raises(FilterError) as refusal:
        compile_filter([{"exact": {"type": 42}}])
    assert refusal.value.value == 42
