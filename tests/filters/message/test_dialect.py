"""The dialect's parser, as the table of dialects calls it."""

import re

import pytest
from hypothesis import assume, given, settings
from tests.filters.message.google import google_says
from tests.filters.message.strategies import recorded_events, trees

from headrace.errors import FilterError
from headrace.filters.backends.cel import write_cel
from headrace.filters.dialects.dialect import Place
from headrace.filters.dialects.message import parse_message
from headrace.filters.dialects.table import parse_filter
from headrace.filters.limits import DEFAULT_LIMITS, Limits
from headrace.filters.message import Operator, property, to_cel, to_json  # noqa: A004

PLACE = Place("filter.message", DEFAULT_LIMITS, parse_filter)


SAYABLE = [
    operator for operator in Operator if "CONTAIN" not in operator.name and "IGNORE_CASE" not in operator.name
]


@settings(max_examples=200)
@given(trees(SAYABLE), recorded_events())
def test_lowers_to_the_same_meaning_or_refuses(tree, event):
    try:
        lowered = parse_message(to_json(tree), PLACE)
    except FilterError:
        assume(False)
    # With dyn, since CEL's checker doesn't compare an integer with a double.
    text = re.sub("publishTime|eventTime", r"dyn(\g<0>)", write_cel(lowered))
    assert google_says(text, event) is google_says(to_cel(tree), event)


def test_what_the_tree_of_all_dialects_can_not_say_is_refused():
    body = to_json(property("tso").greater_than(1))
    with pytest.raises(FilterError, match="greater_than with a long can't be evaluated") as refusal:
        parse_message(body, PLACE)
    assert refusal.value.path == "filter.message"


def test_refuses_with_the_path_in_the_whole_filter():
    body = {"not": {"property": "p", "op": "equals", "value": None}}
    with pytest.raises(FilterError, match=re.escape("not None")) as refusal:
        parse_message(body, PLACE)
    assert refusal.value.path == "filter.message.not.value"


def test_the_depth_of_the_filter_around_it_counts():
    body = to_json(~property("p").equals("a"))
    place = Place("filter.not.message", Limits(depth=2), parse_filter)
    parse_message(body, place)
    with pytest.raises(FilterError) as refusal:
        parse_message(body, Place("filter.not.message", Limits(depth=2), parse_filter, depth=2))
    assert refusal.value.limit == "depth"
