"""The dialect's parser, as the table of dialects calls it."""

import re

import pytest
from hypothesis import given
from tests.examples import examples
from tests.filters.message.strategies import trees

from headrace.errors import FilterError
from headrace.filters import compile_filter
from headrace.filters.bounds.limits import DEFAULT_LIMITS, Limits
from headrace.filters.dialects.dialect import ParseContext
from headrace.filters.dialects.message import parse_message
from headrace.filters.dialects.table import parse_filter
from headrace.filters.message import property, to_cel, to_json  # noqa: A004

CONTEXT = ParseContext("filter.message", DEFAULT_LIMITS, parse_filter)


@examples(200)
@given(trees())
def test_every_tree_is_a_filter(tree):
    compiled = compile_filter({"message": to_json(tree)})
    assert compiled.cel == to_cel(tree)
    assert compile_filter({"cel": compiled.cel}).expression == compiled.expression


def test_a_text_that_needs_too_large_a_pattern_is_refused():
    body = to_json(property("p").contains("a" * 5000, ignore_case=True))
    with pytest.raises(FilterError, match="exceeds the limit `pattern`") as refusal:
        parse_message(body, CONTEXT)
    assert (refusal.value.path, refusal.value.limit) == ("filter.message", "pattern")


def test_refuses_with_the_path_in_the_whole_filter():
    body = {"not": {"property": "p", "op": "equals", "value": None}}
    with pytest.raises(FilterError, match=re.escape("not None")) as refusal:
        parse_message(body, CONTEXT)
    assert refusal.value.path == "filter.message.not.value"


def test_the_depth_of_the_filter_around_it_counts():
    body = to_json(~property("p").equals("a"))
    context = ParseContext("filter.not.message", Limits(depth=2), parse_filter)
    parse_message(body, context)
    with pytest.raises(FilterError) as refusal:
        parse_message(body, ParseContext("filter.not.message", Limits(depth=2), parse_filter, depth=2))
    assert refusal.value.limit == "depth"
