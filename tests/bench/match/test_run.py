import json

import pytest
from click.testing import CliRunner

from headrace.cli.main import main
from headrace_bench import command
from headrace_bench.match import plot, run
from headrace_bench.match.peers import table
from headrace_bench.match.peers.peer import Peer, PeerMissing, data_line

TINY = ["--rules", "10,20", "--events", "20", "--seconds", "0.02", "--batch", "8", "--seed", "3"]
FIGURES = {
    "workload",
    "rules",
    "events",
    "build_seconds",
    "build_wall_seconds",
    "events_per_second",
    "wall_events_per_second",
    "matches_per_event",
    "candidates_per_event",
    "match_us",
    "add_us",
    "add_seen_us",
    "remove_us",
    "bytes",
    "bytes_per_subscription",
}


def invoke(*arguments):
    return CliRunner().invoke(main, ["bench", "match", *arguments])


def test_a_run_writes_every_figure_and_prints_tables(tmp_path):
    result = invoke("--workload", "d", *TINY, "--json", str(tmp_path / "figures.json"))
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "figures.json").read_text())
    assert [(row["workload"], row["rules"]) for row in document["rows"]] == [("skew", 10), ("skew", 20)]
    assert all(set(row) == FIGURES for row in document["rows"])
    assert document["plan"] == {
        "workloads": ["d"],
        "rules": [10, 20],
        "events": 20,
        "seconds": 0.02,
        "batch": 8,
        "seed": 3,
        "peers": False,
    }
    assert [(row["from"], row["to"]) for row in document["growth"]] == [(10, 20)]
    assert document["peers"] == document["left_out"] == document["disagreements"] == []
    for text in ("skew", "events/s", "remove", "from"):
        assert text in result.stdout


@pytest.fixture
def quick(monkeypatch):
    """No processes: the figures are made up, and what was asked for is kept."""
    tasks = []

    def measured(task, say):
        tasks.append(task)
        say("measuring")
        if task.kind == "memory":
            return {"bytes": 1000, "bytes_per_subscription": 10.0}
        rate, quantiles = {"min": 1.0, "median": 2.0, "max": 3.0}, {"p50": 1.0, "p99": 2.0, "p99.9": 3.0}
        figures: dict[str, object] = dict.fromkeys(
            FIGURES - {"workload", "bytes", "bytes_per_subscription"}, 1.0
        )
        figures |= {name: quantiles for name in figures if name.endswith("_us")}
        figures |= {name: rate for name in figures if name.endswith("per_second")}
        return figures | {"rules": task.rules - bool(task.sayable_by), "events": 2, "counts": [3, 4]}

    monkeypatch.setattr(run, "measured_apart", measured)
    return tasks


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (["a"], {"citylots"}),
        (["github", "d"], {"github", "skew"}),
        (
            ["c"],
            {f"worst-{kind}-{on}" for kind in ("contains", "regex", "unequal") for on in ("few", "each")},
        ),
    ],
)
def test_workloads_are_chosen_by_letter_or_name(quick, choice, names):
    options = [each for name in choice for each in ("--workload", name)]
    assert invoke(*options, "--rules", "10").exit_code == 0
    assert {task.workload for task in quick} == names


def test_without_options_all_workloads_have_their_own_sizes(quick):
    assert invoke().exit_code == 0
    assert len({task.workload for task in quick}) == 9
    assert [task.rules for task in quick if task.workload == "citylots" and task.kind == "speed"] == [
        1_000,
        10_000,
        100_000,
        1_000_000,
    ]
    assert {task.events for task in quick} == {10_000}


def test_json_to_standard_output_is_alone_there(quick):
    result = invoke("--workload", "a", "--rules", "10", "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rows"][0]["workload"] == "citylots"


@pytest.mark.parametrize("rules", ["ten", "10,,20", "0", "10,-5"])
def test_sizes_that_are_none(quick, rules):
    result = invoke("--rules", rules)
    assert result.exit_code == 2
    assert "--rules" in result.stderr
    assert quick == []


@pytest.mark.parametrize(
    "option", [["--events", "0"], ["--seconds", "0"], ["--batch", "0"], ["--workload", "e"]]
)
def test_options_out_of_range(quick, option):
    assert invoke(*option).exit_code == 2
    assert quick == []


def test_a_picture_is_refused_before_the_measurement(quick, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    result = invoke("--plot", str(tmp_path / "a.png"))
    assert result.exit_code == 1
    assert "headrace[plot]" in result.stderr
    assert quick == []


def test_a_picture_is_drawn_of_the_report(quick, monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(command, "require_plots", lambda: None)
    monkeypatch.setattr(plot, "draw", lambda report, file: drawn.append((len(report.rows), file)))
    result = invoke("--workload", "a", "--rules", "10,20", "--plot", str(tmp_path / "a.svg"))
    assert result.exit_code == 0, result.output
    assert drawn == [(2, tmp_path / "a.svg")]


def program(counts):
    figures = {"version": "7", "build_seconds": 1, "memory_bytes": 2, "rates": [5], "wall_rates": [4]}
    return ["python3", "-c", f"print('''{json.dumps(figures | {'counts': counts})}''')"]


@pytest.fixture
def peers(monkeypatch):
    """A table with these peers in place of the real ones."""

    def put(*given):
        named = {each.name: each for each in given}
        monkeypatch.setattr(run, "PEERS", named)
        monkeypatch.setattr(table, "PEERS", named)

    return put


def peer(name, counts, write=lambda _: "x", **more):
    return Peer(name, write, data_line, lambda _: program(counts), **more)


def test_peers_run_on_the_same_rules(quick, peers):
    peers(peer("twin", [3, 4]))
    result = invoke("--workload", "a", "--rules", "10", "--events", "2", "--peers", "--json", "-")
    assert result.exit_code == 0, result.output
    ours, theirs = json.loads(result.stdout)["peers"]
    assert (ours["engine"], theirs["engine"]) == ("headrace", "twin 7")
    assert theirs["events_per_second"] == {"min": 5.0, "median": 5.0, "max": 5.0}
    assert (theirs["rules"], theirs["build_seconds"], theirs["memory_bytes"]) == (10, 1, 2)
    assert theirs["matches_per_event"] == 3.5


def test_a_peer_that_finds_other_matches_fails_the_run_and_names_the_workload(quick, peers, tmp_path):
    peers(peer("twin", [3, 4]), peer("stranger", [3, 5]))
    file = tmp_path / "figures.json"
    result = invoke("--workload", "a", "--rules", "10", "--events", "2", "--peers", "--json", str(file))
    assert result.exit_code == 1
    assert "citylots with 10 rules: headrace and stranger found 7 and 8 matches" in result.stderr
    assert "stranger 7" in result.stdout  # the figures are there to look at
    assert len(json.loads(file.read_text())["disagreements"]) == 1


def test_a_peer_with_fewer_words_is_compared_on_what_it_can_say(quick, peers):
    said = iter(["x", None, *["x"] * 100])
    peers(peer("brief", [3, 4], lambda _: next(said)))
    result = invoke("--workload", "a", "--rules", "10", "--events", "2", "--peers", "--json", "-")
    assert result.exit_code == 0, result.output
    whole, reduced, theirs = json.loads(result.stdout)["peers"]
    assert (whole["rules"], reduced["rules"], theirs["rules"]) == (10, 9, 9)
    assert reduced["note"] == "without what brief can't say"
    assert quick[-1].kind == "rates"
    assert quick[-1].sayable_by == "brief"


def test_peers_that_are_left_out_are_told_and_do_not_fail_the_run(quick, peers):
    def missing(_):
        raise PeerMissing("peer gone left out: no `go` on this machine")

    peers(
        Peer("gone", lambda _: "x", data_line, missing),
        peer("mute", [3, 4], lambda _: None, lacks="words"),
        peer("small", [3, 4], most_rules=9),
    )
    result = invoke("--workload", "a", "--rules", "10", "--events", "2", "--peers", "--json", "-")
    assert result.exit_code == 0, result.output
    left_out = json.loads(result.stdout)["left_out"]
    assert left_out == [
        "peer gone left out: no `go` on this machine",
        "citylots, 10 rules: peer mute left out: it lacks words",
        "citylots, 10 rules: peer small left out: more than 9 rules are too many for it",
    ]
    assert all(reason in result.stderr for reason in left_out)
