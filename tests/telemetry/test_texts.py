import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.telemetry.texts import indented, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("status 503: busy", "status 503: busy"),
        ("a\r\nb\tc\0", "a\\r\\nb\\tc\\x00"),
        ("\x1b[2Jcleared\x9b31m", "\\x1b[2Jcleared\\x9b31m"),
        ("\u2028\u2029\u0085", "\\u2028\\u2029\\x85"),
        ("abc\u202edcba\u2066", "abc\\u202edcba\\u2066"),
        ("half \ud800", "half \\ud800"),
        ("Grüße, 世界 🙂", "Grüße, 世界 🙂"),
    ],
)
def test_what_is_not_safe_to_show_is_escaped(text, shown):
    assert one_line(text) == shown


@given(st.text(st.characters()))
def test_a_line_is_one_line_and_nothing_that_commands(text):
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in shown)
    shown.encode()


def test_lines_stay_lines_behind_their_indent():
    assert indented("one\ntwo\rthree\n") == "    one\n    two\\rthree"
