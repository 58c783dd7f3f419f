import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.filters.message.google import ENVIRONMENT

from headrace.errors import FilterError
from headrace.filters.message.numbers import cel_double, cel_int, read_operand, write_operand
from headrace.filters.message.operators import ValueType

like_numbers = (
    st.text("0123456789+-.eExXpPaAfF_ \t", max_size=8)
    | st.from_regex(r"\s?[+-]?(?i:inf|infinity|nan|nan\([a-z0-9_]{0,3}\))\s?", fullmatch=True)
    | st.from_regex(r"[+-]?0[xX][0-9a-fA-F]{0,3}\.?[0-9a-f]{0,2}([pP][+-]?[0-9]{0,4})?", fullmatch=True)
    | st.integers().map(str)
    | st.floats().map(repr)
)


def google(function, text):
    result = ENVIRONMENT.compile(f"{function}(string(ce.x))").eval(data={"ce": {"x": text}})
    return None if not isinstance(result.value(), int | float) else result.value()


@settings(max_examples=150)
@given(like_numbers.filter(lambda text: "\0" not in text))
@example("+ 1")
@example("nan(")
@example("0x")
@example("0x1p99999")
@example("-0x1p99999")
@example("\v1\f")
@example("\x1c1")
@example("٣")
def test_texts_are_read_as_google_reads_them(text):
    assert cel_int(text) == google("int", text)
    ours, theirs = cel_double(text), google("double", text)
    assert ours == theirs or (
        ours is not None and theirs is not None and math.isnan(ours) and math.isnan(theirs)
    )


@given(st.integers(-(2**63), 2**63 - 1))
def test_longs_read_back(value):
    assert read_operand(write_operand(value), ValueType.LONG) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value):
    assert read_operand(write_operand(value), ValueType.DOUBLE) == value


@pytest.mark.parametrize("text", ["", "1.0", "1e3", " 1", "1 ", "0x1", "1_0", "٣", "+", "--1", "9" * 5000])
def test_what_is_no_long(text):
    with pytest.raises(FilterError, match="is no long"):
        read_operand(text, ValueType.LONG)


@pytest.mark.parametrize("text", ["", "NaN", "inf", "Infinity", " 1", "0x1", "1_0", "1d", ".", "e5", "1e"])
def test_what_is_no_double(text):
    with pytest.raises(FilterError, match="is no double"):
        read_operand(text, ValueType.DOUBLE)


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("1.0E10", 1e10), ("-.5", -0.5), ("5.", 5.0)])
def test_doubles_as_other_languages_write_them(text, value):
    assert read_operand(text, ValueType.DOUBLE) == value
