import json

import pytest
from click.testing import CliRunner

from headrace.cli.main import main
from headrace_bench.match.bloom import BloomPlan, measure_bloom, unwanted
from headrace_bench.match.workloads.table import WORKLOADS

PLAN = BloomPlan(rules=(3_000,), events=400, seconds=0.01, batch=128)


def test_events_with_values_that_are_asked_for_and_without():
    asked_for, others = measure_bloom(PLAN, lambda _: None)
    assert [asked_for["values"], others["values"]] == ["asked for", "not asked for"]
    assert asked_for["found"] > 0.3
    assert others["found"] == 0
    assert others["passed"] < 0.05
    assert 0 < asked_for["ns_per_lookup"] < 100_000
    assert others["ratio"] == pytest.approx(others["ns_per_lookup"] / others["ns_per_lookup_without"])


def test_no_value_stays_the_same():
    for event in WORKLOADS["citylots"].events(20, seed=1):
        before, after = (json.loads(each.data or b"")["properties"] for each in (event, unwanted(event)))
        assert before.keys() == after.keys()
        assert all(before[name] != after[name] and type(before[name]) is type(after[name]) for name in before)


def test_command():
    arguments = ["bench", "match", "--bloom", "--rules", "500", "--events", "50", "--seconds", "0.01"]
    shown = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert shown.exit_code == 0
    assert "not asked for" in shown.output
    written = CliRunner().invoke(main, [*arguments, "--json", "-"], catch_exceptions=False)
    assert [row["rules"] for row in json.loads(written.stdout)["bloom"]] == [500, 500]
