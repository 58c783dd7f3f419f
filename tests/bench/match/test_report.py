import json

import pytest

from headrace.cli.history.plots import require_plots
from headrace.errors import HeadraceError
from headrace_bench.match import plot
from headrace_bench.match.report import GROWING, Report, growth, print_report


def row(rules, rate=1000.0, workload="citylots", **more):
    quantiles = {"p50": 1.0 * rules, "p99": 2.0 * rules, "p99.9": 3.0, "samples": 9}
    return {
        "workload": workload,
        "rules": rules,
        "events": 5,
        "build_seconds": rules / 100,
        "build_wall_seconds": 1.0,
        "events_per_second": {"min": rate / 2, "median": rate, "max": rate * 2},
        "wall_events_per_second": {"min": 1.0, "median": 777.0, "max": 3.0},
        "matches_per_event": 1.5,
        "candidates_per_event": None,
        "match_us": quantiles,
        "add_us": quantiles,
        "remove_us": quantiles,
        "add_seen_us": quantiles,
        "bytes": rules * 300,
        "bytes_per_subscription": 300.0,
    } | more


def peer_row(engine="event-ruler 2.0.1", rules=10, note="", **more):
    figures = row(rules)
    kept = ("workload", "rules", "events", "events_per_second", "wall_events_per_second", "matches_per_event")
    figures = {name: figures[name] for name in (*kept, "build_seconds")}
    return figures | {"engine": engine, "memory_bytes": 5e6, "note": note} | more


def report(**more):
    return Report({"cores": 2}, {"seed": 11}, **more)


def test_growth_goes_from_the_fewest_rules_to_the_most():
    rows = [row(1000, 90.0), row(10, 900.0), row(100, 300.0), row(7, workload="skew")]
    (found,) = growth(rows)
    assert (found["workload"], found["from"], found["to"]) == ("citylots", 10, 1000)
    assert found["events/s"] == pytest.approx(0.1)
    assert found["match p99"] == found["build"] == found["memory"] == found["add p50"] == 100
    assert found["matches"] == 1
    assert set(GROWING) < set(found)


def test_growth_without_a_figure_is_none():
    (found,) = growth([row(10, add_us=None, bytes=0), row(100)])
    assert found["add p50"] is found["memory"] is None
    (found,) = growth([row(10), row(100, add_us=None)])
    assert found["add p50"] is None


def test_counts_are_compared_on_the_events_that_both_got_to():
    made = report()
    made.compare("citylots", 1000, "event-ruler", [1, 2, 3], [1, 2])
    assert made.disagreements == []
    made.compare("citylots", 1000, "event-ruler", [1, 2, 3, 0], [1, 4, 1])
    (told,) = made.disagreements
    assert told == (
        "citylots with 1,000 rules: headrace and event-ruler found 6 and 6 matches on 3 events; "
        "the first that differs is number 1: 2 and 4"
    )


def test_the_tables(capsys):
    made = report(
        rows=[row(10), row(1000, add_us=None)], peers=[peer_row(), peer_row("headrace", note="fewer")]
    )
    print_report(made)
    printed = capsys.readouterr().out
    for text in (
        "500/1,000/2,000",
        "777",
        "citylots",
        "B/rule",
        "event-ruler 2.0.1",
        "fewer",
        "remove",
        "from",
    ):
        assert text in printed


def test_one_size_and_no_peers_need_no_more_tables(capsys):
    print_report(report(rows=[row(10)]))
    printed = capsys.readouterr().out
    assert "fewest" not in printed
    assert "engine" not in printed


def test_the_document_is_json():
    made = report(
        rows=[row(10), row(20)], peers=[peer_row()], left_out=["peer x left out"], disagreements=["y"]
    )
    document = json.loads(json.dumps(made.document()))
    assert list(document) == ["machine", "plan", "rows", "growth", "peers", "left_out", "disagreements"]
    assert document["growth"][0]["to"] == 20


def test_what_is_drawn():
    made = report(
        rows=[row(10), row(100, bytes_per_subscription=0.0)],
        peers=[peer_row(), peer_row("headrace"), peer_row("headrace", note="without ranges")],
    )
    rates, latencies, memory = plot.panels(made).values()
    assert rates["citylots"] == [(10, 1000.0), (100, 1000.0)]
    assert set(rates) == {"citylots", "citylots: event-ruler 2.0.1", "citylots: headrace without ranges"}
    assert latencies == {"citylots": [(10, 20.0), (100, 200.0)]}
    assert memory == {"citylots": [(10, 300.0)]}


@pytest.mark.parametrize(("name", "starts"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_picture(tmp_path, name, starts):
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    plot.draw(report(rows=[row(10), row(100)], peers=[peer_row()]), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(starts)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(HeadraceError, match=r"headrace\[plot\]"):
        require_plots()
