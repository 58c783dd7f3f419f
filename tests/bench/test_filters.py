import json
import random

import pytest
from click.testing import CliRunner

from headrace.cli.main import main
from headrace.errors import HeadraceError
from headrace.filters import compile_filter
from headrace.filters.dialects.table import DIALECTS
from headrace_bench import filters

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
    rows = json.loads(result.stdout)["dialects"]
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


BACK_END = """
import pyarrow as pa
from headrace.events.batch import from_batch
from headrace.filters.backends import reference
from headrace.filters.variables import variables_of

def evaluate(expression, batch):
    answers = [reference.evaluate(expression, variables_of(each)) for each in from_batch(batch)]
    return pa.array([answer if isinstance(answer, bool) else None for answer in answers], pa.bool_())
"""


@pytest.mark.parametrize(("told", "agrees"), [("answers]", True), ("answers[1:]] + [None]", False)])
def test_a_back_end_over_columns_is_measured_where_there_is_one(monkeypatch, tmp_path, told, agrees):
    (tmp_path / f"columns_{agrees}.py").write_text(BACK_END.replace("answers]", told))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(filters, "_ARROW", f"columns_{agrees}")
    monkeypatch.setattr(filters, "DIALECTS", {"not": DIALECTS["not"]})
    if agrees:
        (row,) = filters.run(filters.FiltersPlan(5, 20), lambda _: None)
        assert row["Arrow/s"] > 0
    else:
        with pytest.raises(HeadraceError, match="disagree"):
            filters.run(filters.FiltersPlan(5, 20), lambda _: None)
