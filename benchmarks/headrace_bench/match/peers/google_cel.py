"""Google's CEL: every filter on every event, one after the other, with the event bound once."""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headrace.events import json_format
from headrace.filters.variables import variables_of
from headrace_bench import google
from headrace_bench.match.arrivals import recorded
from headrace_bench.match.memory import resident
from headrace_bench.match.peers.peer import Answer, Peer, json_line
from headrace_bench.match.rules import cel_text
from headrace_bench.match.timing import passes

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace_bench.match.rules import AnyRule


def _write(rule: AnyRule) -> str | None:
    return json_line(cel_text(rule))


def _build(_say: Callable[[str], None]) -> list[str]:
    return [sys.executable, "-m", __name__]


GOOGLE_CEL = Peer(
    "google-cel",
    _write,
    json_format.encode,
    _build,
    lacks="what CEL can't say",
    most_rules=100_000,  # 6 kB each, and seconds for one event
)


def main(rules: Path, events: Path, seconds: float) -> None:
    """Do what a peer's program does."""
    texts = [
        msgspec.json.decode(line.split(b"\t", 1)[1], type=str) for line in rules.read_bytes().splitlines()
    ]
    lines = events.read_bytes().splitlines()
    google.environment()
    before, began = resident(), time.process_time()
    programs = [google.compiled(text).eval for text in texts]
    build = time.process_time() - began
    memory = max(0, resident() - before)

    def count(line: bytes) -> list[int]:
        bound = google.bound(variables_of(recorded(json_format.decode(line), 0)))
        return [sum(evaluate(activation=bound).value() is True for evaluate in programs)]

    done = passes(lines, count, count, seconds)
    answer = Answer(done.counts, done.rates, done.wall_rates, version("cel-expr-python"), build, memory)
    sys.stdout.buffer.write(msgspec.json.encode(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
