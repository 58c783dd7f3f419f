import json
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.filters.strategies import events, filters
from tests.matching.test_matcher import arrivals, event, recorded, scopes

from headrace.errors import NotFound
from headrace.events.event import Event
from headrace.events.recorded import Recorded
from headrace.filters import compile_filter
from headrace.matching import Matcher, Scope
from headrace.matching.reports.explanation import explain_scope

SCOPE = Scope("n", "c", source="/s", types=("u", "t"), created=5, deleted=9)


def matcher_of(spec, scope=None):
    matcher = Matcher()
    matcher.add("s", compile_filter(spec), scope=scope)
    return matcher


def test_draws_the_scope_and_then_the_filter():
    matcher = matcher_of({"cel": 'ce.id == "2" || data.a > 1'}, SCOPE)
    assert str(matcher.explain(recorded(7, ("n", "c")), "s")) == dedent("""\
        false: subscription 's' sees the event (the filter is unknown, which doesn't match)
        ├── true: scope
        │   ├── true: channel is n/c (the event is in n/c)
        │   ├── true: source is "/s" (ce.source is "/s")
        │   ├── true: type is one of "u", "t" (ce.type is "t")
        │   ├── true: position is at least 5, where it was created (the event is at 7)
        │   └── true: position is below 9, where it was deleted (the event is at 7)
        └── unknown: any of
            ├── false: ce.id == "2" (ce.id is "1")
            └── unknown: data.a > 1 (data is missing)""")


def test_a_wide_scope_says_that_it_asks_nothing():
    found = matcher_of({"exact": {"id": "1"}}, Scope("n", "c")).explain(recorded(0, ("n", "c")), "s")
    assert str(found) == dedent("""\
        true: subscription 's' sees the event
        ├── true: scope
        │   ├── true: channel is n/c (the event is in n/c)
        │   ├── true: any source (ce.source is "/s")
        │   ├── true: any type (ce.type is "t")
        │   ├── true: position is at least 0, where it was created (the event is at 0)
        │   └── true: it isn't deleted
        └── true: ce.id == "1" (ce.id is "1")""")


def test_no_scope():
    found = matcher_of({"exact": {"id": "1"}}).explain(event(), "s")
    assert str(found) == dedent("""\
        true: subscription 's' sees the event
        ├── true: scope (none: it sees every channel and bare events)
        └── true: ce.id == "1" (ce.id is "1")""")


@pytest.mark.parametrize(
    ("scope", "failed"),
    [
        (Scope("n", "other"), ["channel is n/other"]),
        (Scope("c", "n"), ["channel is c/n"]),
        (Scope("n", "c", source="/t"), ['source is "/t"']),
        (Scope("n", "c", types=("u",)), ['type is one of "u"']),
        (Scope("n", "c", created=8), ["position is at least 8, where it was created"]),
        (Scope("n", "c", deleted=7), ["position is below 7, where it was deleted"]),
        (
            Scope("x", "c", source="/t", deleted=0),
            ["channel is x/c", 'source is "/t"', "position is below 0, where it was deleted"],
        ),
    ],
)
def test_names_what_of_the_scope_fails(scope, failed):
    found = explain_scope(scope, recorded(7, ("n", "c")))
    assert found.value is False
    assert [line.clause for line in found.parts if line.value is False] == failed


def test_a_bare_event_has_neither_channel_nor_position():
    found = explain_scope(SCOPE, event())
    reasons = {line.reason for line in found.parts if line.value is False}
    assert reasons == {"a bare event is in no channel", "a bare event has no position"}


def test_attributes_that_are_missing_are_named():
    odd = Event(attributes={"specversion": "1.0", "id": "1"})
    reasons = [line.reason for line in explain_scope(SCOPE, odd).parts]
    assert reasons[1:3] == ["ce.source is missing", "ce.type is missing"]


def test_an_unknown_filter_is_no_reason_where_the_scope_fails():
    found = matcher_of({"cel": "data.a > 1"}, Scope("n", "d")).explain(recorded(7, ("n", "c")), "s")
    assert (found.value, found.reason) == (False, "")


def test_the_document_is_json():
    found = matcher_of({"cel": "data.a > 1"}, SCOPE).explain(recorded(7, ("n", "c")), "s").document()
    assert json.loads(json.dumps(found)) == found
    assert found["value"] is False
    assert [part["clause"] for part in found["parts"]] == ["scope", "data.a > 1"]
    assert found["parts"][1]["value"] is None


def test_an_id_that_nobody_has():
    matcher = matcher_of([])
    with pytest.raises(NotFound, match="there is no subscription 'x'"):
        matcher.explain(event(), "x")
    matcher.remove("s")
    with pytest.raises(NotFound):
        matcher.explain(event(), "s")


def test_explains_the_filter_that_the_id_has_now():
    matcher = matcher_of({"exact": {"id": "2"}})
    matcher.add("s", compile_filter({"exact": {"id": "1"}}))
    assert matcher.explain(event(), "s").value is True


@given(filters, scopes, arrivals, st.lists(events(), max_size=3), st.integers(0, 7))
def test_is_true_exactly_where_it_matches(spec, scope, arrivals, bare, position):
    matcher = matcher_of(spec, scope)
    for each in [*bare, *(Recorded(position, 0, arrival) for arrival in arrivals)]:
        assert matcher.explain(each, "s").value is (matcher.match(each) == ["s"])
