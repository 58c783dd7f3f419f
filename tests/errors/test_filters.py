import pytest

from headrace.errors import FilterError

PLACES = [
    ("a b", 2, "line 1, column 3", "a b", 2),
    ("a\nb", 2, "line 2, column 1", "b", 0),
    ("a\n", 2, "line 2, column 1", "", 0),
    ("a\r\nb", 0, "line 1, column 1", "a", 0),
    ("a\x0bb\u2028c\nd", 6, "line 2, column 1", "d", 0),
    ("", 0, "line 1, column 1", "", 0),
]


@pytest.mark.parametrize(("source", "position", "place", "line", "column"), PLACES)
def test_a_caret_stands_under_the_fault(source, position, place, line, column):
    detail = FilterError("wrong", source=source, position=position).detail
    assert detail == f"wrong ({place})\n  {line}\n  {' ' * column}^"
