"""Heartbeats: what a process says once a second, on a full disk too, and never half of it."""

import os
import shutil
import threading
import time

import pytest
from tests.chaos.faults import Fault, damage

from headrace.telemetry.health import Health
from headrace.telemetry.heartbeat import Beat, Heartbeat, State, read_beat, write_beat


def beat_of(state=State.STARTED, failures=0, reason=""):
    now = time.monotonic()
    return Beat(os.getpid(), state, now, now, failures, reason)


def read(path):
    beat = read_beat(path)
    assert beat is not None
    return beat


def test_a_heartbeat_carries_the_register(tmp_path):
    health = Health()
    heart = Heartbeat(tmp_path / "http.beat", health)
    heart.beat()
    assert (read(tmp_path / "http.beat").state, read(tmp_path / "http.beat").pid) == (
        State.STARTING,
        os.getpid(),
    )
    health.blocked("log", "the disk is full")
    health.started()
    heart.beat()
    said = read(tmp_path / "http.beat")
    assert said.state is State.STARTED
    assert said.reports == health.reports()


def test_it_beats_by_itself_until_it_ends_with_a_reason(tmp_path):
    path, health = tmp_path / "http.beat", Health()
    heart = Heartbeat(path, health).start()
    first = read(path).at
    deadline = time.monotonic() + 20
    while read(path).at == first:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    heart.end("the port is taken")
    said = read(path)
    assert (said.state, said.reason) == (State.ENDED, "the port is taken")


def test_the_next_process_takes_over_what_is_said_of_the_end(tmp_path):
    path = tmp_path / "http.beat"
    write_beat(path, beat_of(state=State.ENDED, failures=3, reason="status 1"))
    Heartbeat(path, Health()).beat()
    said = read(path)
    assert (said.state, said.failures, said.reason) == (State.STARTING, 3, "status 1")
    Heartbeat(path, Health()).beat()
    assert read(path).failures == 0, "a beat of a process that runs is no end"


def test_a_full_disk_does_not_stop_the_heart(disk):
    path, health = disk.folder / "http.beat", Health()
    heart = Heartbeat(path, health)
    heart.beat()
    disk.fill()
    for number in range(50):
        health.working(f"part {number}", "x" * 100)
        heart.beat()
        assert len(read(path).reports) == number + 1
    disk.free()


def test_a_start_on_a_full_disk_is_survived(disk):
    disk.fill()
    heart = Heartbeat(disk.folder / "http.beat", Health())
    heart.beat()
    disk.free()
    heart.beat()
    assert read(disk.folder / "http.beat").state is State.STARTING


def test_what_does_not_fit_is_cut(tmp_path):
    path, health = tmp_path / "http.beat", Health()
    for number in range(100):
        health.blocked(f"part {number}", "x" * 10_000)
    heart = Heartbeat(path, health)
    heart.beat()
    assert len(read(path).reports) == 100
    for number in range(10_000):
        health.blocked(f"part {number}", "x" * 10_000)
    heart.beat()
    assert read(path).reports == {}
    assert path.stat().st_size == 1 << 14


@pytest.mark.parametrize("content", [b"", b"HRB1", b"x" * 100, b"HRB1" + bytes(100)])
def test_what_is_no_beat_is_not_read_as_one(tmp_path, content):
    (tmp_path / "beat").write_bytes(content)
    assert read_beat(tmp_path / "beat") is None
    assert read_beat(tmp_path / "nothing") is None


def test_a_beat_is_never_read_half(tmp_path):
    path, stop = tmp_path / "beat", threading.Event()
    write_beat(path, beat_of(reason="a" * 900))

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            write_beat(path, beat_of(reason="ab"[number % 2] * (900 - number % 7)))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(2_000):
            said = read_beat(path)
            assert said is None or len(set(said.reason)) == 1
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("fault", list(Fault))
def test_the_next_beat_heals_its_file(tmp_path, fault):
    path, older, health = tmp_path / "http.beat", tmp_path / "older", Health()
    older.mkdir()
    write_beat(older / "http.beat", beat_of(reason="older"))
    heart = Heartbeat(path, health)
    heart.beat()
    damage(tmp_path, older, ["http.beat"], fault, seed=1)
    heart.beat()
    assert (read(path).state, read(path).reason) == (State.STARTING, "")


def test_a_folder_that_was_removed_is_made_anew(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    heart = Heartbeat(folder / "http.beat", Health())
    heart.beat()
    shutil.rmtree(folder)
    heart.beat()
    assert read(folder / "http.beat").state is State.STARTING
    assert folder.stat().st_mode & 0o077 == 0


def test_a_data_folder_that_was_removed_is_not(tmp_path):
    assert not write_beat(tmp_path / "gone" / "run" / "http.beat", beat_of())
    assert not (tmp_path / "gone").exists()
