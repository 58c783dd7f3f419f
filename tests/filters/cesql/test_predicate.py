import pickle

import pytest

from headrace.errors import FilterError
from headrace.filters.cesql import CesqlPredicate, parse
from headrace.filters.dialects.cesql import parse_sql
from headrace.filters.dialects.dialect import Place
from headrace.filters.dialects.table import parse_filter
from headrace.filters.limits import Limits

PLACE = Place("filters[0].sql", Limits(), parse_filter)
BOUND = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def test_the_dialect_gives_a_predicate():
    predicate = parse_sql("type = 'T' OR Subject LIKE 'a%'", PLACE)
    assert predicate == CesqlPredicate(parse("type='T' or (subject like 'a%')"))
    assert hash(predicate) == hash(CesqlPredicate(parse("type='T' or (subject like 'a%')")))
    assert predicate.text == "type = 'T' OR subject LIKE 'a%'"
    assert predicate.attributes == {"type", "subject"}
    assert predicate.cel == 'ce.type == "T" || has(ce.subject) && ce.subject.startsWith("a")'
    assert not predicate.truth(BOUND)
    assert predicate.truth(BOUND | {"subject": "abc"})
    assert predicate.result(BOUND).errors[0].problem == "the event has no subject"


def test_what_cel_cannot_say_still_has_a_truth():
    predicate = parse_sql("LOWER(type) = 't'", PLACE)
    assert predicate.cel is None
    assert predicate.truth(BOUND)


def test_a_predicate_pickles():
    predicate = parse_sql("type = 't'", PLACE)
    copy = pickle.loads(pickle.dumps(predicate))
    assert copy == predicate
    assert copy.truth(BOUND)


@pytest.mark.parametrize("body", [None, "", 1, {"sql": "a"}, "\ud800", ["a"]])
def test_a_body_is_a_text(body):
    with pytest.raises(FilterError) as caught:
        parse_sql(body, PLACE)
    assert caught.value.path == "filters[0].sql"


REFUSED = [
    ("type = ", 6, "the expression ends where a value is expected"),
    ("NOT foo(1)", 4, "there is no function FOO; there are LENGTH, CONCAT"),
    ("LENGTH(a, b) > 1", 0, "LENGTH doesn't take 2 arguments"),
    ("a = 1 OR SUBSTRING(a) = ''", 9, "SUBSTRING doesn't take 1 argument"),
]


@pytest.mark.parametrize(("text", "position", "problem"), REFUSED)
def test_a_fault_says_where_it_is(text, position, problem):
    with pytest.raises(FilterError) as caught:
        parse_sql(text, PLACE)
    assert (caught.value.path, caught.value.position) == ("filters[0].sql", position)
    assert str(caught.value).startswith(f"filters[0].sql: {problem}")
    assert str(caught.value).endswith(" " * position + "^")


@pytest.mark.parametrize("limit", ["length", "depth", "atoms"])
def test_a_place_sets_the_limits(limit):
    place = Place("filter", Limits(**{limit: 2}), parse_filter)
    with pytest.raises(FilterError) as caught:
        parse_sql("a + b + c = 2", place)
    assert caught.value.limit == limit
