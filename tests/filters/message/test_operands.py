import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import FilterError
from headrace.filters.message.operands import read_operand, write_operand
from headrace.filters.message.operators import ValueType


@given(st.integers(-(2**63), 2**63 - 1))
def test_longs_read_back(value):
    assert read_operand(write_operand(value), ValueType.LONG) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value):
    assert read_operand(write_operand(value), ValueType.DOUBLE) == value


@pytest.mark.parametrize("text", ["", "1.0", "1e3", " 1", "1 ", "0x1", "1_0", "٣", "+", "--1", "9" * 5000])
def test_what_is_no_long(text):
    with pytest.raises(FilterError, match="is not a long"):
        read_operand(text, ValueType.LONG)


@pytest.mark.parametrize("text", ["", "NaN", "inf", "Infinity", " 1", "0x1", "1_0", "1d", ".", "e5", "1e"])
def test_what_is_no_double(text):
    with pytest.raises(FilterError, match="is not a double"):
        read_operand(text, ValueType.DOUBLE)


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("1.0E10", 1e10), ("-.5", -0.5), ("5.", 5.0)])
def test_doubles_as_other_languages_write_them(text, value):
    assert read_operand(text, ValueType.DOUBLE) == value
