import shutil
import sys
from functools import cache
from importlib import resources

import pytest

from headrace_bench.match.measure import Task, measure
from headrace_bench.match.peers import meet as meeting
from headrace_bench.match.peers import peer as peers
from headrace_bench.match.peers import program
from headrace_bench.match.peers.meet import meet
from headrace_bench.match.peers.peer import Peer, PeerMissing, data_line
from headrace_bench.match.peers.table import PEERS
from headrace_bench.match.rules import Written
from headrace_bench.match.workloads.table import WORKLOADS

SECONDS = 0.3
PACKAGE = "headrace_bench.match.peers"


@cache
def command_of(name):
    try:
        return PEERS[name].build(lambda _: None)
    except PeerMissing as missing:
        return str(missing)


def met(name, workload, rules=600, events=25):
    command = command_of(name)
    if isinstance(command, str):
        pytest.skip(command)
    there = WORKLOADS[workload]
    return meet(PEERS[name], command, there.rules(rules, 3), there.events(events, 3), SECONDS)


def ours(name, workload, rules=600, events=25):
    return measure(Task("rates", workload, rules, events, 3, SECONDS, 64, name), lambda _: None)


@pytest.mark.parametrize("workload", ["citylots", "worst-contains-few", "worst-unequal-each", "skew"])
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_finds_what_headrace_finds(name, workload):
    found = met(name, workload)
    expected = ours(name, workload)
    assert found.rules == expected["rules"]
    reached = len(found.answer.counts)
    assert reached == 25 if name != "google-cel" else reached >= 5
    assert found.answer.counts == expected["counts"][:reached]
    assert sum(expected["counts"]) > 0


@pytest.mark.parametrize("name", PEERS)
def test_the_figures_of_a_peer(name):
    answer = met(name, "citylots").answer
    assert answer.version[0].isdigit()
    assert answer.build_seconds > 0
    assert answer.memory_bytes >= 0
    assert len(answer.rates) == len(answer.wall_rates) >= 1
    assert min(answer.rates + answer.wall_rates) > 0


def test_google_evaluates_filters_of_every_dialect():
    found = met("google-cel", "github", 400)
    expected = ours("google-cel", "github", 400)
    both = len(found.answer.counts)
    assert found.answer.counts == expected["counts"][:both]


@pytest.mark.parametrize("name", ["event-ruler", "quamina"])
def test_a_peer_without_words_for_any_rule_is_left_out(name):
    with pytest.raises(PeerMissing, match=f"peer {name} left out: it lacks .*regular expressions"):
        meet(PEERS[name], ["never started"], WORKLOADS["worst-regex-few"].rules(5, 1), [], SECONDS)


def test_a_peer_gets_its_rules_and_events_in_files(tmp_path):
    echo = (
        "import sys, json; rules, events, seconds = sys.argv[1:]\n"
        "lines = open(rules).read().splitlines()\n"
        "assert lines == ['0\\tone', '2\\tthree'], lines\n"
        "print(json.dumps(dict(version='1', build_seconds=1, memory_bytes=2, rates=[float(seconds)], wall_rates=[1],"
        " counts=[len(line) for line in open(events).read().splitlines()])))"
    )
    words = iter(["one", None, "three"])
    peer = Peer("echo", lambda _: next(words), data_line, lambda _: [])
    events = WORKLOADS["skew"].events(2, 1)
    found = meet(peer, [sys.executable, "-c", echo], [Written({"x": each}) for each in "abc"], events, 0.5)
    assert found.rules == 2
    assert found.answer.counts == [len(event.data or b"") for event in events]
    assert found.answer.rates == [0.5]


def test_a_program_that_fails_or_hangs_is_left_out_with_its_words(monkeypatch):
    peer = Peer("poor", lambda _: "x", data_line, lambda _: [])
    rules = [Written({})]
    with pytest.raises(PeerMissing, match="poor left out: its program failed and said: out of water"):
        meet(peer, [sys.executable, "-c", "import sys; sys.exit('out of water')"], rules, [], SECONDS)
    monkeypatch.setattr(meeting, "_STARTS_WITHIN", 0.1)
    with pytest.raises(PeerMissing, match="took over"):
        meet(peer, [sys.executable, "-c", "import time; time.sleep(60)"], rules, [], SECONDS)


@pytest.mark.parametrize(("name", "tool"), [("event-ruler", "java"), ("quamina", "go")])
def test_a_missing_tool_is_named(monkeypatch, name, tool):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(PeerMissing, match=f"^peer {name} left out: no `{tool}` on this machine$"):
        PEERS[name].build(lambda _: None)


def test_a_step_that_fails_says_why(tmp_path):
    says = "print('noise'); print('[ERROR] no such artifact'); raise SystemExit(3)"
    with pytest.raises(PeerMissing, match=r"peer x left out: `python.* failed: \[ERROR\] no such artifact"):
        program.step([sys.executable, "-c", says], tmp_path, "x")


def test_a_step_that_hangs_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(program, "_PATIENCE", 0.1)
    with pytest.raises(PeerMissing, match="took over"):
        program.step([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, "x")


def test_a_program_is_built_once_and_not_kept_half(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls: list[object] = []

    def fails(folder):
        calls.append(sorted(each.name for each in folder.iterdir()))
        raise PeerMissing("no")

    def builds(folder):
        calls.append("built")
        (folder / "program").write_text("x")

    with pytest.raises(PeerMissing):
        program.built("ruler", ("pom.xml", "RulerPeer.java"), fails)
    assert calls == [["RulerPeer.java", "pom.xml"]]
    assert list((tmp_path / "headrace" / "peers").iterdir()) == []
    folder = program.built("ruler", ("pom.xml", "RulerPeer.java"), builds)
    assert folder.parent == peers.cache_folder("ruler").parent
    assert (folder / "program").read_text() == "x"
    assert program.built("ruler", ("pom.xml", "RulerPeer.java"), builds) == folder
    assert calls[1:] == ["built"]


def test_sources_name_no_download_address():
    for name, files in {"ruler": ("pom.xml", "RulerPeer.java"), "quamina": ("main.go",)}.items():
        for each in files:
            text = resources.files(PACKAGE).joinpath(name, each).read_text()
            assert "://" not in text
