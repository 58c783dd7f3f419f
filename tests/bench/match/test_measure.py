import pytest

from headrace.errors import HeadraceError
from headrace.matching import Matcher
from headrace_bench.match import child, measure
from headrace_bench.match.measure import Task
from headrace_bench.match.memory import resident

SPEED = [
    "rules",
    "events",
    "build_seconds",
    "build_wall_seconds",
    "events_per_second",
    "wall_events_per_second",
    "matches_per_event",
    "candidates_per_event",
    "counts",
]
LATENCIES = ["match_us", "remove_us", "add_us", "add_seen_us"]


def task(kind="speed", workload="skew", rules=20, events=30, **more):
    return Task(kind, workload, rules, events, seed=1, seconds=0.02, batch=16, **more)


def test_a_process_of_its_own_has_every_figure():
    said: list[str] = []
    figures = child.measured_apart(task(), said.append)
    assert list(figures) == SPEED + LATENCIES
    assert said == ["compiling filters", "building", "matching", "one event at a time", "removing and adding"]
    assert figures["rules"] == 20
    assert figures["events"] == len(figures["counts"])
    assert figures["counts"][0] == 10  # the hot event
    assert figures["build_seconds"] > 0
    assert figures["matches_per_event"] == sum(figures["counts"]) / figures["events"]
    for name in ("events_per_second", "wall_events_per_second"):
        assert 0 < figures[name]["min"] <= figures[name]["median"] <= figures[name]["max"]
    for name in LATENCIES:
        assert 0 < figures[name]["p50"] <= figures[name]["p99"] <= figures[name]["p99.9"]


def test_memory_is_measured_in_a_process_of_its_own():
    figures = child.measured_apart(task("memory", rules=3_000), lambda _: None)
    assert figures["bytes_per_subscription"] == figures["bytes"] / 3_000
    assert 20 < figures["bytes_per_subscription"] < 20_000


def test_resident_memory_grows_with_what_is_held():
    before = resident()
    held = bytearray(b"x") * 50_000_000
    assert 45_000_000 < resident() - before < 60_000_000
    del held
    assert resident() - before < 10_000_000


def test_rules_that_a_peer_has_no_words_for_are_left_out():
    whole = measure.measure(task("rates", "citylots", 100), lambda _: None)
    reduced = measure.measure(task("rates", "citylots", 100, sayable_by="quamina"), lambda _: None)
    assert whole["rules"] == 100
    assert 80 < reduced["rules"] < 100


def test_events_that_nothing_matches_leave_changes_unmeasured():
    figures = measure.measure(task(workload="github", rules=1, events=2), lambda _: None)
    assert figures["matches_per_event"] == 0
    assert figures["add_us"] is figures["remove_us"] is figures["add_seen_us"] is None
    assert figures["match_us"]["samples"] >= 1


class _Forgetful(Matcher):
    def remove(self, subscription):
        """Forget to."""


class _Deaf(Matcher):
    deaf = False

    def remove(self, subscription):
        super().remove(subscription)
        self.deaf = True

    def add(self, subscription, filter_, *, scope=None):
        if not self.deaf:
            super().add(subscription, filter_, scope=scope)


@pytest.mark.parametrize(
    ("broken", "told"), [(_Forgetful, "removed still matches"), (_Deaf, "added doesn't match")]
)
def test_a_change_that_an_event_does_not_notice_fails_the_measurement(monkeypatch, broken, told):
    monkeypatch.setattr(measure, "Matcher", broken)
    with pytest.raises(HeadraceError, match=told):
        measure.measure(task(), lambda _: None)


def test_what_fails_in_the_process_is_raised_here(monkeypatch, capfd):
    with pytest.raises(HeadraceError, match=r"nonsense with 20 rules ended with 1"):
        child.measured_apart(task(workload="nonsense"), lambda _: None)
    assert "KeyError" in capfd.readouterr().err


def test_an_error_of_headrace_is_told_without_a_traceback(monkeypatch, capfd):
    program = (
        "from headrace_bench.match import child\n"
        "from headrace.errors import HeadraceError\n"
        "def measure(task, say): raise HeadraceError('no water')\n"
        "child.measure = measure\n"
        "child.main()"
    )
    command = child.COMMAND
    monkeypatch.setattr(child, "COMMAND", (command[0], "-c", program))
    with pytest.raises(HeadraceError, match="skew with 20 rules: no water"):
        child.measured_apart(task(), lambda _: None)
    assert capfd.readouterr().err == ""
