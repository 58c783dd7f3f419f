import json
import random

import pytest
from click.testing import CliRunner

from headrace.bench import filters
from headrace.cli.main import main
from headrace.errors import HeadraceError
from headrace.filters import compile_filter
from headrace.filters.dialects.table import DIALECTS

FIGURES = ["dialect", "compiled/s", *(f"{name}/s" for name in filters.backends()), "matched %"]


def test_filters_and_events_come_from_the_seed():
    def sample(seed):
        return [filters.sample_filter(dialect, random.Random(seed)) for dialect in DIALECTS]

    assert sample(1) == sample(1) != sample(2)
    assert filters.sample_events(20, 1) == filters.sample_events(20, 1) != filters.sample_events(20, 2)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_filters_of_a_dialect_differ_and_say_yes_and_no(dialect):
    chance = random.Random(3)
    wanted = [compile_filter(filters.sample_filter(dialect, chance)) for _ in range(50)]
    events = filters.sample_events(100, 3)
    answers = {each.matches(event) for each in wanted for event in events}
    assert answers == {True, False}
    assert len({each.cel for each in wanted}) > 10


def test_there_are_figures_for_every_dialect_and_back_end():
    result = CliRunner().invoke(main, ["bench", "filters", "--filters", "10", "--events", "20", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["dialect"] for row in rows] == list(DIALECTS)
    for row in rows:
        assert list(row) == FIGURES
        assert all(row[figure] > 0 for figure in FIGURES if figure.endswith("/s"))


def test_the_table(monkeypatch):
    monkeypatch.setattr(filters, "DIALECTS", {"exact": DIALECTS["exact"]})
    result = CliRunner().invoke(main, ["bench", "filters", "--filters", "5", "--events", "20"])
    assert result.exit_code == 0, result.output
    for figure in FIGURES:
        assert figure in result.stdout


def test_back_ends_that_disagree_fail_it(monkeypatch):
    monkeypatch.setattr(filters, "_by_reference", lambda wanted, stage: lambda: -1)
    with pytest.raises(HeadraceError, match=r"disagree .* reference -1, .*Google \d"):
        filters.run(filters.FiltersPlan(1, 10), lambda _: None)
    result = CliRunner().invoke(main, ["bench", "filters", "--filters", "1", "--events", "10"])
    assert result.exit_code == 1
    assert "disagree" in result.stderr
