import time

import click
import pytest

from headrace.cli.history.chart import bars
from headrace.cli.history.points import MOMENT, POINT


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ("17", {"position": 17}),
        ("2026-01-31T12:00:00+02:00", {"time": "2026-01-31T12:00:00+02:00"}),
        ('{"position": 3, "filter": {"cel": "true"}}', {"position": 3, "filter": {"cel": "true"}}),
        ('{"exact": {"type": "t"}}', {"filter": {"exact": {"type": "t"}}}),
    ],
)
def test_points_as_a_person_types_them(text, point):
    assert POINT.convert(text, None, None) == point


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2h", 7200), ("1.5d", 129600)])
def test_so_long_ago(text, seconds):
    before = time.time()
    assert POINT.convert(text, None, None)["time"] / 1000 == pytest.approx(before - seconds, abs=5)
    assert MOMENT.convert(text, None, None) / 1000 == pytest.approx(before - seconds, abs=5)


@pytest.mark.parametrize("text", ["", "soon", "-1", "2x", "[1]", "{", "2026-02-30T00:00:00Z"])
def test_what_is_no_point_is_refused_with_the_forms_it_may_have(text):
    with pytest.raises(click.BadParameter, match="so long ago"):
        POINT.convert(text, None, None)
    with pytest.raises(click.BadParameter, match="two hours ago"):
        MOMENT.convert(text, None, None)


def test_a_bar_for_each_count():
    assert bars([0, 1, 4, 8, 100]) == " ▁▁▁█"
    assert bars([2, 2]) == "██"
    assert bars([0, 0]) == "  "
