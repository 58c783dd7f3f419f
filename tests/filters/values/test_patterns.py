from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from headrace.filters.values.faults import Fault
from headrace.filters.values.patterns import InvalidPattern, compile_pattern, fits, found

GLOBS = [
    ("https://github.com*", "https://github.com/knative", True),
    ("https://github.com*", "http://github.com", False),
    ("*", "", True),
    ("?", "é", True),
    ("?", "😀", True),
    ("?", "", False),
    ("a*c", "a\nb\nc", True),
    ("[ab]c", "bc", True),
    ("[!ab]c", "bc", False),
    ("[!ab]c", "\nc", True),
    ("[a-c]", "b", True),
    ("[c-a]", "b", False),
    ("[!c-a]", "b", True),
    ("[]]", "]", True),
    ("[!]]", "]", False),
    ("[", "[", True),
    ("[a", "[a", True),
    ("[*]", "*", True),
    ("[*]", "x", False),
    ("a.b", "axb", False),
    (r"\d", "5", False),
    (r"\d", r"\d", True),
    ("[a-]", "-", True),
    ("A", "a", False),
]


@pytest.mark.parametrize(("glob", "text", "expected"), GLOBS)
def test_globs(glob, text, expected):
    assert fits(text, glob) is expected


characters = st.text("ab-]![*?.\\^$\né", max_size=6)


@examples(500)
@given(characters, characters)
def test_globs_mean_what_they_mean_in_python(text, glob):
    assert fits(text, glob) is fnmatchcase(text, glob)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
def test_any_text_is_a_glob(glob):
    assert fits("x", glob) in (True, False)


def test_what_backtracks_elsewhere_is_quick_here():
    assert not found("a" * 5000 + "b", "^(a+)+$")
    assert not fits("a" * 5000, "*a" * 20 + "b")


@pytest.mark.parametrize("pattern", ["(", r"(?=a)", r"\1", "a{2000}", "\ud800"])
def test_what_re2_cannot_read(pattern):
    with pytest.raises(InvalidPattern):
        compile_pattern(pattern)
    with pytest.raises(Fault):
        found("x", pattern)


def test_lone_surrogates_are_no_text():
    with pytest.raises(Fault):
        found("\ud800", "x")
