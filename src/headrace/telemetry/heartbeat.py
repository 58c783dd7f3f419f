"""The heartbeat of a process: its register of health, written once a second to a file of fixed size.

Its space is allocated when the file is made, and each beat overwrites the one before, so a full disk doesn't stop it.
A checksum reveals a beat that is read while it is being written; the reader then reads again.
"""

from __future__ import annotations

import os
import struct
import threading
import time
import zlib
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Self

import msgspec

from headrace.telemetry.health import HEALTH, Health, Report

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS = 1.0
_BYTES = 1 << 14
_HEAD = struct.Struct("<4sII")  # magic, length, checksum
_MAGIC = b"HRB1"
_LOOKS = 5
# Long enough for any sentence; if there are too many parts, the notes are cut further.
_NOTE_LENGTHS = (1_000, 200, 50)


class State(StrEnum):
    """The stage of a process's life."""

    STARTING = "starting"
    STARTED = "started"
    ENDED = "ended"


class Beat(msgspec.Struct, frozen=True):
    """What a process reported at one moment. Times are of the monotonic clock, which all processes of a boot share.

    `failures` counts how often in a row the process has ended shortly after its start, and `reason` says why it last
    ended or why it ends now.
    """

    pid: int
    state: State
    at: float
    began: float
    failures: int = 0
    reason: str = ""
    reports: dict[str, Report] = {}

    def age(self, now: float) -> float:
        """Return how many seconds ago it was; infinity if it is from an earlier boot."""
        return now - self.at if now >= self.at else float("inf")


class Heartbeat:
    """Beats in a thread of its own from `start` to `end`. A beat that can't be written is left out."""

    def __init__(self, path: Path, health: Health = HEALTH) -> None:
        """Carry on the count of failures and the reason of an end before this start."""
        before = read_beat(path)
        is_restart = before is not None and before.state is State.ENDED
        self._failures = before.failures if before and is_restart else 0
        self._reason = before.reason if before and is_restart else ""
        self._path = path
        self._health = health
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-heartbeat", daemon=True)

    def start(self) -> Self:
        """Start beating."""
        self.beat()
        self._thread.start()
        return self

    def beat(self) -> None:
        """Write the present state of the process."""
        state = State.STARTED if self._health.is_started else State.STARTING
        self._write(state, self._reason)

    def end(self, reason: str) -> None:
        """Stop, and write why the process ends."""
        self._stop.set()
        self._health.has_turned.set()
        if self._thread.is_alive():
            self._thread.join()
        self._write(State.ENDED, reason)

    def _write(self, state: State, reason: str) -> None:
        now, reports = time.monotonic(), self._health.reports()
        write_beat(self._path, Beat(os.getpid(), state, now, self._began, self._failures, reason, reports))

    def _run(self) -> None:
        while not self._stop.is_set():
            self._health.has_turned.wait(_SECONDS)
            self._health.has_turned.clear()
            self.beat()


def write_beat(path: Path, beat: Beat) -> bool:
    """Overwrite the beat in the file; return whether that succeeded. A file or folder that was removed is made anew."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError:
        return False
    try:
        _reserve_space(descriptor)
        os.pwrite(descriptor, _encoded(beat), 0)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def read_beat(path: Path) -> Beat | None:
    """Return the last beat; None where there was none, or none that can be read."""
    for _ in range(_LOOKS):
        try:
            content = path.read_bytes()
        except OSError:
            return None
        beat = _decoded(content)
        if beat is not None or not content:
            return beat
        time.sleep(0.001)
    return None


def _reserve_space(descriptor: int) -> None:
    if os.fstat(descriptor).st_size < _BYTES:
        with suppress(OSError):  # without the space the beat may still fit
            os.posix_fallocate(descriptor, 0, _BYTES)


def _encoded(beat: Beat) -> bytes:
    payload = b""
    for length in _NOTE_LENGTHS:
        payload = msgspec.msgpack.encode(_cut(beat, length))
        if _HEAD.size + len(payload) <= _BYTES:
            break
    else:
        payload = msgspec.msgpack.encode(msgspec.structs.replace(beat, reports={}))
    return _HEAD.pack(_MAGIC, len(payload), zlib.crc32(payload)) + payload


def _cut(beat: Beat, length: int) -> Beat:
    reports = {
        part[:length]: Report(each.status, each.note[:length], each.at, each.within, each.since)
        for part, each in beat.reports.items()
    }
    return msgspec.structs.replace(beat, reason=beat.reason[:length], reports=reports)


def _decoded(content: bytes) -> Beat | None:
    if len(content) < _HEAD.size:
        return None
    magic, length, checksum = _HEAD.unpack_from(content)
    payload = content[_HEAD.size : _HEAD.size + length]
    if magic != _MAGIC or zlib.crc32(payload) != checksum:
        return None
    with suppress(msgspec.DecodeError):
        return msgspec.msgpack.decode(payload, type=Beat)
    return None
