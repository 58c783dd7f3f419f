"""From a heartbeat to a judgement: ready, or why not."""

import os
import subprocess
import sys

import pytest

from headrace.telemetry.health import Health, Report, Status
from headrace.telemetry.heartbeat import Beat, State
from headrace.telemetry.readiness import Word, judge

NOW = 1_000_000_000.0


def report(status, note, ago=0.5, within=15.0):
    return Report(status, note, NOW - ago, within, NOW - ago)


def beat(reports=(), *, state=State.STARTED, ago=0.5, ran=100.0, **members):
    return Beat(
        **{"pid": os.getpid(), "state": state, "at": NOW - ago, "began": NOW - ran, "reports": dict(reports)}
        | members
    )


def test_a_role_that_works_or_is_idle_is_ready_and_says_what_it_did():
    standing = judge(
        beat(
            {
                "intake": report(Status.IDLE, "the outbox is read", 0.1),
                "ledger": report(Status.WORKING, "committed 5 changes", 3.0),
            }
        ),
        NOW,
    )
    assert standing.is_ready
    assert (standing.did, standing.problem, standing.seconds) == ("committed 5 changes", None, 100.0)


def test_nothing_heard_yet():
    assert judge(None, NOW).word is Word.STARTING
    assert judge(beat(state=State.STARTING), NOW).word is Word.STARTING


def test_a_blocked_part_blocks_its_role_and_says_why():
    standing = judge(beat({"log": report(Status.BLOCKED, "the disk is full", 7.0)}), NOW)
    assert standing.word is Word.BLOCKED
    assert (standing.problem, standing.seconds) == ("log: the disk is full", 7.0)
    assert judge(beat({"log": report(Status.BLOCKED, "x")}, state=State.STARTING), NOW).word is Word.BLOCKED


def test_a_part_that_falls_silent_blocks_its_role():
    standing = judge(beat({"event loop": report(Status.IDLE, "it turns", 30.0)}), NOW)
    assert standing.word is Word.BLOCKED
    assert standing.problem == "event loop: nothing has been heard for 30 s; the last was: it turns"


def test_a_degraded_part_is_shown_and_the_role_stays_ready():
    standing = judge(
        beat({"archive": report(Status.DEGRADED, "the folder is gone", 3000.0, float("inf"))}), NOW
    )
    assert standing.is_ready
    shown = standing.document(NOW)["parts"]["archive"]
    assert (shown["state"], shown["note"]) == ("degraded", "the folder is gone")
    assert "problem" not in shown


def test_a_process_that_is_there_and_says_nothing_is_stuck():
    standing = judge(beat(ago=11.0), NOW)
    assert standing.word is Word.SILENT
    assert f"process {os.getpid()} is there, and nothing has been heard of it for 11 s" in str(
        standing.problem
    )
    assert judge(beat(ago=9.0), NOW).is_ready


def test_a_process_that_is_gone_is_told_from_one_that_is_stuck():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    standing = judge(beat(ago=11.0, pid=ended.pid), NOW)
    assert standing.word is Word.RESTARTING
    assert f"process {ended.pid} has ended" in str(standing.problem)


def test_a_beat_of_an_earlier_boot_is_no_sign_of_life():
    standing = judge(beat(ago=-500.0, ran=-400.0), NOW)
    assert not standing.is_ready


def test_a_role_that_ended_says_why():
    standing = judge(beat(state=State.ENDED, reason="it ended with status 1 and starts again in 4 s"), NOW)
    assert standing.word is Word.RESTARTING
    assert standing.problem == "it ended with status 1 and starts again in 4 s"


@pytest.mark.parametrize(
    ("failures", "ran", "word"),
    [
        (1, 0.1, Word.READY),
        (2, 9.0, Word.RESTARTING),
        (2, 11.0, Word.READY),
        (3, 19.0, Word.RESTARTING),
        (4, 41.0, Word.READY),
        (50, 59.0, Word.RESTARTING),
        (50, 61.0, Word.READY),
    ],
)
def test_a_role_in_a_crash_loop_has_to_last_before_it_counts_as_ready(failures, ran, word):
    standing = judge(beat(failures=failures, reason="no memory", ran=ran), NOW)
    assert standing.word is word
    assert (word is Word.READY) == ("no memory" not in str(standing.problem))


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
