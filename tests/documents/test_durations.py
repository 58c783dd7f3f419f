import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.documents.durations import read_duration, write_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT0S", 0), ("PT0.5S", 0.5), ("PT0,5S", 0.5), ("PT2S", 2), ("PT2M", 120), ("PT1H30M", 5400), ("P1D", 86400),
        ("P1DT1S", 86401), ("P2W", 14 * 86400),
    ],
)  # fmt: skip
def test_what_is_a_duration(text, seconds):
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    "value", ["", "P", "PT", "P1DT", "1S", "PT1", "PT-1S", "-PT1S", "P1Y", "P1M", "PT1S ", "pt1s", "PT٣S", 5, None, "P" + "1" * 50 + "D"]
)  # fmt: skip
def test_what_is_none(value):
    assert read_duration(value) is None


@given(st.integers(0, 10**9))
def test_what_is_written_is_read_again(thousandths):
    seconds = thousandths / 1000
    assert read_duration(write_duration(seconds)) == seconds
