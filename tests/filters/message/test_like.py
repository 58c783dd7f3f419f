import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.filters.message.meaning import like
from tests.filters.message.strategies import recorded

from headrace.filters.backends.reference import evaluate
from headrace.filters.message import property  # noqa: A004
from headrace.filters.message.like import Wildcard, parse_like
from headrace.filters.message.lowering import lower
from headrace.filters.truth import UNKNOWN
from headrace.filters.variables import variables_of

RUN, ONE = Wildcard.RUN, Wildcard.ONE
TOKENS = [
    ("", ()),
    ("abc", ("abc",)),
    ("a%", ("a", RUN)),
    ("%%a%%%", (RUN, "a", RUN)),
    ("a__", ("a", ONE, ONE)),
    (r"a\%b", ("a%b",)),
    (r"\_\%", ("_%",)),
    (r"a\b", (r"a\b",)),
    ("\\", ("\\",)),
    (r"\\%", (r"\%",)),
    ("a\n%", ("a\n", RUN)),
]


@pytest.mark.parametrize(("pattern", "tokens"), TOKENS)
def test_tokens(pattern, tokens):
    assert parse_like(pattern) == tokens


@settings(max_examples=500)
@given(st.text("ab%_\\", max_size=7), st.text("ab%\\\n", max_size=8))
def test_means_what_the_rules_say(pattern, text):
    event = recorded({"p": text})
    assert evaluate(lower(property("p").like(pattern)), variables_of(event)) is like(text, pattern)


def test_many_runs_are_no_catastrophe():
    expression = lower(property("p").like("%a" * 500 + "%b"))
    assert evaluate(expression, variables_of(recorded({"p": "a" * 300}))) is False
    assert evaluate(expression, variables_of(recorded({"p": "a" * 5000}))) is UNKNOWN
