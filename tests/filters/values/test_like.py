import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.filters.values.like import ONE, matcher, segments_of, to_re2

SEGMENTS = [
    ("", [()]),
    ("abc", [("a", "b", "c")]),
    ("a%", [("a",), ()]),
    ("%%a%%%", [(), (), ("a",), (), (), ()]),
    ("a__", [("a", ONE, ONE)]),
    (r"a\%b", [("a", "%", "b")]),
    (r"\_\%", [("_", "%")]),
    (r"a\b", [("a", "\\", "b")]),
    ("\\", [("\\",)]),
    (r"\\%", [("\\", "%")]),
    ("a\n%", [("a", "\n"), ()]),
]
texts = st.text("ab\n%_\\.é", max_size=8)


@pytest.mark.parametrize(("pattern", "segments"), SEGMENTS)
def test_segments(pattern, segments):
    assert [segment.characters for segment in segments_of(pattern)] == segments


@given(texts, texts)
def test_a_pattern_means_its_regular_expression(pattern, text):
    assert matcher(pattern)(text) == (re.fullmatch(to_re2(segments_of(pattern))[:-1], text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("", "", True),
        ("", "a", False),
        ("%", "", True),
        ("_", "", False),
        ("_", "\U0001f600", True),
        ("ab%ba", "aba", False),
        ("ab%ba", "abba", True),
        ("a%_", "a", False),
        ("%a_c%", "xxabcxx", True),
        ("\\\\%", "\\%", True),
        ("\\\\%", "\\a", False),
        ("a\\b", "a\\b", True),
        ("A", "a", False),
    ],
)
def test_match(pattern, text, matches):
    assert matcher(pattern)(text) is matches


@pytest.mark.parametrize("pattern", ["%a" * 2000 + "%b", "%_a" * 1000 + "b", "a%" * 3000 + "b"])
def test_many_wildcards_are_no_trap(pattern):
    started = time.process_time()
    assert not matcher(pattern)("a" * 20_000)
    assert time.process_time() - started < 2
