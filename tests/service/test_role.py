"""How roles end: what was foreseen in a line, and what wasn't with its trace; and who has to wait waits."""

import errno
import logging
import sys
import types

import pytest
from tests.chaos.faults import Fault, damage

from headrace.config import load_config, write_snapshot
from headrace.errors import ConfigError, StoreUnavailable
from headrace.service import role
from headrace.service.processes.heartbeats import beat_path
from headrace.service.role import EXIT_FAILED, EXIT_REFUSED
from headrace.telemetry.heartbeat import State, read_beat


@pytest.fixture
def run(tmp_path, monkeypatch, caplog):
    """Run a role that raises this; return its exit status, what it logged, and its last words."""
    monkeypatch.setattr(role, "hold_on_to_starter", lambda: None)
    monkeypatch.setattr(role, "spare_heap", lambda: None)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    config = tmp_path / "config.json"
    (tmp_path / "run").mkdir()
    write_snapshot(load_config(None, {"data": str(tmp_path)}, {}), config)

    def run_it(error):
        def fail(_):
            raise error

        module = types.SimpleNamespace(run=fail)
        monkeypatch.setitem(sys.modules, "headrace.service.roles.cook", module)
        status = role.main(["cook", str(config)])
        beat = read_beat(beat_path(tmp_path / "run", "cook"))
        assert beat is not None
        assert beat.state is State.ENDED
        return status, caplog.records, beat.reason

    return run_it


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ConfigError("no such port"), EXIT_REFUSED, "no such port"),
        (StoreUnavailable("gone"), EXIT_FAILED, str(StoreUnavailable("gone"))),
        (ExceptionGroup("x", [ValueError("y"), ConfigError("no such port")]), EXIT_REFUSED, "no such port"),
        (ExceptionGroup("x", [ExceptionGroup("x", [ConfigError("z")])]), EXIT_REFUSED, "z"),
        (OSError(errno.ENOSPC, "No space left on device"), EXIT_FAILED, "[Errno 28] No space left on device"),
    ],
)
def test_what_was_foreseen_is_a_line(run, error, status, reason):
    got, records, reason_of_end = run(error)
    assert (got, reason_of_end) == (status, reason)
    assert [each.exc_info for each in records if each.levelno >= logging.ERROR] == [None]


@pytest.mark.parametrize(
    "error", [ValueError("odd\nand long"), ExceptionGroup("x", [ValueError("odd"), KeyError("a")])]
)
def test_what_was_not_foreseen_is_logged_with_its_trace(run, error):
    status, records, reason_of_end = run(error)
    assert (status, reason_of_end) == (EXIT_FAILED, "ValueError: odd")
    assert any(each.exc_info for each in records)


def test_who_finds_no_room_waits_for_it(run, monkeypatch):
    waited = []

    def note(*arguments):
        waited.append(arguments)

    monkeypatch.setattr(role, "await_space", note)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert run(StoreUnavailable("database or disk is full"))[0] == EXIT_FAILED
    [(part, _, needed, _)] = waited
    assert (part, needed) == ("cook", 1 << 20)


@pytest.mark.parametrize("fault", [Fault.EMPTY, Fault.HALVE, Fault.SHORTEN, Fault.REMOVE])
def test_settings_that_cannot_be_read_are_told_in_a_sentence(tmp_path, caplog, monkeypatch, fault):
    """The supervisor writes them anew before it starts the role again."""
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    write_snapshot(load_config(None, {"data": str(tmp_path)}, {}), tmp_path / "config.json")
    damage(tmp_path, tmp_path, ["config.json"], fault, seed=1)
    assert role.main(["cook", str(tmp_path / "config.json")]) == EXIT_FAILED
    [record] = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert record.exc_info is None
    assert str(tmp_path / "config.json") in record.message
    assert "starts" in record.message
