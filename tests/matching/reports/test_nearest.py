import json
import time
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.filters.strategies import filters
from tests.matching.test_matcher import arrivals, event, recorded, scopes

from headrace.events.recorded import Recorded
from headrace.filters import compile_filter
from headrace.matching import Matcher, Scope


def matcher_of(*texts, scope=None):
    matcher = Matcher()
    matcher.add_many((str(number), compile_filter({"cel": text}), scope) for number, text in enumerate(texts))
    return matcher


def ids(found):
    return [each.subscription for each in found.nearest]


def test_the_largest_share_comes_first_and_ties_as_they_were_added():
    matcher = matcher_of(
        'ce.id == "2" && ce.type == "u"',
        'ce.id == "1" && ce.type == "u"',
        'ce.id == "1" && ce.type == "t"',
        'ce.id == "1" && ce.type == "t" && ce.source == "/x"',
        'ce.id == "2" && ce.type == "t"',
    )
    found = matcher.why_not(event())
    assert ids(found) == ["3", "1", "4", "0"]
    assert [(each.true, each.clauses) for each in found.nearest] == [(2, 3), (1, 2), (1, 2), (0, 2)]
    assert (found.asked, found.matching, found.filters, found.unasked) == (5, 1, 5, 0)


def test_draws_what_failed_and_how_far_it_looked():
    matcher = matcher_of('ce.id == "1" && data.a > 1 && ce.type != "t"', 'ce.id == "1"')
    matcher.add("far", compile_filter([]), scope=Scope("n", "c"))
    assert str(matcher.why_not(event())) == dedent("""\
        0: 1 of 3 clauses true
            unknown: data.a > 1 (data is missing)
            false: ce.type != "t" (ce.type is "t")
        asked 2 subscriptions with 2 distinct filters; 1 match; 1 of channels that the event is not in""")


def test_the_nearest_alternative_is_the_one_shown():
    matcher = matcher_of(
        'ce.id == "2" && ce.type == "u" || ce.id == "1" && ce.type == "t" && ce.source == "/x"'
    )
    (miss,) = matcher.why_not(event()).nearest
    assert [each.clause for each in miss.failed] == ['ce.source == "/x"']
    assert (miss.true, miss.clauses) == (2, 3)


def test_what_a_scope_asks_are_clauses():
    matcher = matcher_of(
        'ce.id == "1"', scope=Scope("n", "c", source="/x", types=("t",), created=5, deleted=9)
    )
    (miss,) = matcher.why_not(recorded(9, ("n", "c"))).nearest
    assert (miss.true, miss.clauses) == (3, 5)
    assert [each.clause for each in miss.failed] == [
        'source is "/x"',
        "position is below 9, where it was deleted",
    ]


def test_a_filter_that_is_never_true_is_one_clause():
    (miss,) = matcher_of("false").why_not(event()).nearest
    assert (miss.true, miss.clauses) == (0, 1)
    assert [str(each) for each in miss.failed] == ["false: false (on every event)"]


def test_nobody_is_near_where_all_match():
    found = matcher_of('ce.id == "1"', "true").why_not(event())
    assert (found.nearest, found.matching) == ((), 2)
    assert str(Matcher().why_not(event())) == "asked 0 subscriptions with 0 distinct filters; 0 match"


def test_at_most_the_limit():
    matcher = matcher_of(*(f'ce.id == "{number}"' for number in range(2, 12)))
    assert ids(matcher.why_not(event())) == ["0", "1", "2", "3", "4"]
    assert ids(matcher.why_not(event(), 2)) == ["0", "1"]
    assert ids(matcher.why_not(event(), limit=0)) == []
    with pytest.raises(ValueError, match="not negative"):
        matcher.why_not(event(), -1)


def test_says_whom_the_bound_on_work_leaves_out():
    matcher = matcher_of('ce.id == "2"', 'ce.id == "3"', 'ce.id == "4"', 'ce.id == "2"')
    found = matcher.why_not(event(), filters=2)
    assert ids(found) == ["0", "1", "3"], "a filter that is known already costs nothing"
    assert (found.asked, found.filters, found.unasked) == (3, 2, 1)
    assert "1 not asked, beyond the limit of distinct filters" in str(found)


def test_who_was_removed_is_not_near():
    matcher = matcher_of('ce.id == "2"', 'ce.id == "3"')
    matcher.remove("0")
    assert ids(matcher.why_not(event())) == ["1"]


def test_the_document_is_json():
    found = matcher_of('ce.id == "2"').why_not(event()).document()
    assert json.loads(json.dumps(found)) == found
    failed = {"clause": 'ce.id == "2"', "value": False, "reason": 'ce.id is "1"'}
    assert found == {
        "nearest": [{"subscription": "0", "true": 0, "clauses": 1, "failed": [failed]}],
        "asked": 1,
        "matching": 0,
        "filters": 1,
        "unasked": 0,
        "elsewhere": 0,
    }


def test_a_hundred_thousand_subscriptions_take_seconds():
    matcher = Matcher()
    shared = [compile_filter({"exact": {"type": f"u{number}", "id": "1"}}) for number in range(300)]
    matcher.add_many((str(n), shared[n % 300], Scope("n", "c", created=n)) for n in range(100_000))
    began = time.process_time()
    found = matcher.why_not(recorded(50_000, ("n", "c")))
    assert time.process_time() - began < 30
    assert (found.asked, found.filters) == (100_000, 300)
    assert ids(found) == ["1", "2", "3", "4", "5"], "of three clauses two, where 0 has one of two"


@given(st.lists(st.tuples(filters, scopes), max_size=6), arrivals, st.integers(0, 7))
def test_everyone_matches_or_misses(subscriptions, arrivals, position):
    matcher = Matcher()
    matcher.add_many(
        (str(number), compile_filter(spec), scope) for number, (spec, scope) in enumerate(subscriptions)
    )
    for arrival in arrivals:
        log_event = Recorded(position, 0, arrival)
        found = matcher.why_not(log_event, limit=10)
        matching = matcher.match(log_event)
        assert found.matching == len(matching)
        assert found.asked + found.elsewhere == len(subscriptions)
        assert len(found.nearest) == found.asked - found.matching
        assert not set(ids(found)) & set(matching)
        assert all(len(each.failed) == each.clauses - each.true > 0 for each in found.nearest)
