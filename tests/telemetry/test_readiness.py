"""From a heartbeat to a judgement: ready, or why not."""

import os
import subprocess
import sys

import pytest

from headrace.telemetry.health import Health, Report, Status
from headrace.telemetry.heartbeat import Beat, State
from headrace.telemetry.readiness import RoleState, judge

NOW = 1_000_000_000.0


def report(status, note, ago=0.5, within=15.0):
    return Report(status, note, NOW - ago, within, NOW - ago)


def beat(reports=(), *, state=State.STARTED, ago=0.5, ran=100.0, **members):
    return Beat(
        **{"pid": os.getpid(), "state": state, "at": NOW - ago, "began": NOW - ran, "reports": dict(reports)}
        | members
    )


def test_a_role_that_works_or_is_idle_is_ready_and_says_what_it_did():
    status = judge(
        beat(
            {
                "intake": report(Status.IDLE, "the outbox is read", 0.1),
                "ledger": report(Status.WORKING, "committed 5 changes", 3.0),
            }
        ),
        NOW,
    )
    assert status.is_ready
    assert (status.did, status.problem, status.seconds) == ("committed 5 changes", None, 100.0)


def test_nothing_heard_yet():
    assert judge(None, NOW).state is RoleState.STARTING
    assert judge(beat(state=State.STARTING), NOW).state is RoleState.STARTING


def test_a_blocked_part_blocks_its_role_and_says_why():
    status = judge(beat({"log": report(Status.BLOCKED, "the disk is full", 7.0)}), NOW)
    assert status.state is RoleState.BLOCKED
    assert (status.problem, status.seconds) == ("log: the disk is full", 7.0)
    assert (
        judge(beat({"log": report(Status.BLOCKED, "x")}, state=State.STARTING), NOW).state
        is RoleState.BLOCKED
    )


def test_a_part_that_falls_silent_blocks_its_role():
    status = judge(beat({"event loop": report(Status.IDLE, "it turns", 30.0)}), NOW)
    assert status.state is RoleState.BLOCKED
    assert status.problem == "event loop: nothing has been heard for 30 s; the last was: it turns"


def test_a_degraded_part_is_shown_and_the_role_stays_ready():
    status = judge(
        beat({"archive": report(Status.DEGRADED, "the folder is gone", 3000.0, float("inf"))}), NOW
    )
    assert status.is_ready
    shown = status.document(NOW)["parts"]["archive"]
    assert (shown["state"], shown["note"]) == ("degraded", "the folder is gone")
    assert "problem" not in shown


def test_a_process_that_is_there_and_says_nothing_is_stuck():
    status = judge(beat(ago=11.0), NOW)
    assert status.state is RoleState.SILENT
    assert f"process {os.getpid()} is there, and nothing has been heard of it for 11 s" in str(status.problem)
    assert judge(beat(ago=9.0), NOW).is_ready


def test_a_process_that_is_gone_is_told_from_one_that_is_stuck():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    status = judge(beat(ago=11.0, pid=ended.pid), NOW)
    assert status.state is RoleState.RESTARTING
    assert f"process {ended.pid} has ended" in str(status.problem)


def test_a_beat_of_an_earlier_boot_is_no_sign_of_life():
    status = judge(beat(ago=-500.0, ran=-400.0), NOW)
    assert not status.is_ready


def test_a_role_that_ended_says_why():
    status = judge(beat(state=State.ENDED, reason="it ended with status 1 and starts again in 4 s"), NOW)
    assert status.state is RoleState.RESTARTING
    assert status.problem == "it ended with status 1 and starts again in 4 s"


@pytest.mark.parametrize(
    ("failures", "ran", "state"),
    [
        (1, 0.1, RoleState.READY),
        (2, 9.0, RoleState.RESTARTING),
        (2, 11.0, RoleState.READY),
        (3, 19.0, RoleState.RESTARTING),
        (4, 41.0, RoleState.READY),
        (50, 59.0, RoleState.RESTARTING),
        (50, 61.0, RoleState.READY),
    ],
)
def test_a_role_in_a_crash_loop_has_to_last_before_it_counts_as_ready(failures, ran, state):
    status = judge(beat(failures=failures, reason="no memory", ran=ran), NOW)
    assert status.state is state
    assert (state is RoleState.READY) == ("no memory" not in str(status.problem))


def test_the_document_has_a_sentence_for_each():
    health = Health()
    health.blocked("database", "it is away")
    reports = health.reports()
    at = reports["database"].at
    shown = judge(Beat(os.getpid(), State.STARTED, at, at - 5, 0, "", reports), at).document(at)
    assert set(shown) == {"state", "since", "did", "problem", "parts"}
    assert shown["problem"] == "database: it is away"
    assert shown["parts"]["database"]["problem"] == "it is away"
    assert shown["since"].endswith("Z")
