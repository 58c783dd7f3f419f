import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.filters.message.like import Wildcard, parse_like

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
    assert parse_like(pattern).tokens == tokens


def expected(pattern, text):
    """The rules again, as a backtracking regular expression."""
    regex = re.sub(
        r"\\[%_]|.",
        lambda token: {"%": ".*", "_": "."}.get(token[0], re.escape(token[0][-1])),
        pattern,
        flags=re.DOTALL,
    )
    return re.fullmatch(regex, text, re.DOTALL) is not None


@settings(max_examples=500)
@given(st.text("ab%_\\", max_size=7), st.text("ab%\\\n", max_size=8))
def test_matches_what_the_rules_say(pattern, text):
    assert parse_like(pattern).matches(text) is expected(pattern, text)


def test_many_runs_are_no_catastrophe():
    assert not parse_like("%a" * 500 + "%b").matches("a" * 5000)
