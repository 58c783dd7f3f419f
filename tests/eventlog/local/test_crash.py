"""Writers killed at random moments: what they said was stored is there."""

import random
import time
from contextlib import closing

import pytest
from tests.eventlog.arrivals import python, read

from headrace.eventlog.local.writer import SegmentWriter

APPEND = """
import sys
from pathlib import Path
from headrace.eventlog.local.writer import SegmentWriter
from tests.eventlog.arrivals import arrival
writer = SegmentWriter(Path(sys.argv[1]), 20_000)
for commit in range(10**9):
    first = writer.end
    size = 1 + commit % 3
    names = [f"{sys.argv[2]}-{first + index}" for index in range(size)]
    assert writer.append([arrival(name, bytes(commit % 5000)) for name in names]) == first
    sys.stdout.write("".join(f"{first + index} {name}\\n" for index, name in enumerate(names)))
    sys.stdout.flush()
"""
ROUNDS = 4


@pytest.mark.timeout(120)
def test_everything_that_was_acknowledged_survives_the_writers_death(tmp_path):
    acknowledged: dict[int, str] = {}
    for round_ in range(ROUNDS):
        process = python(APPEND, tmp_path, round_)
        with process:
            begun = process.stdout.readline()
            time.sleep(random.uniform(0, 0.15))
            process.kill()
            whole = (begun + process.stdout.read()).rpartition("\n")[0]
        acknowledged |= {int(position): name for position, name in map(str.split, whole.splitlines())}
        with closing(SegmentWriter(tmp_path, 20_000)) as writer:
            kept = read(tmp_path)
            assert writer.end == len(kept)
        assert [recorded.position for recorded in kept] == list(range(len(kept)))
        names = [recorded.event.id for recorded in kept]
        assert {position: names[position] for position in acknowledged} == acknowledged
        # One commit at most, of up to three events, was stored and not yet acknowledged; before it there is no gap.
        assert len(names) - len(acknowledged) <= 3 * (round_ + 1)
        assert all(name.endswith(f"-{position}") for position, name in enumerate(names))
    assert len(acknowledged) > 10 * ROUNDS
