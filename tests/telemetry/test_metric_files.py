"""Counters on a full disk: a process that counts is never killed for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.chaos.faults import Fault, damage

COUNT = """
import sys
from pathlib import Path
from headrace.telemetry.metrics import ACCEPTED, DELIVERED, exposition
from tests.disks import Disk
disk = Disk(Path(sys.argv[1]))
{before}
DELIVERED.inc(3)
for number in range(2_000):
    ACCEPTED.labels("n" * 100, f"c{{number}}").inc()
print("alive")
disk.free()
print(exposition().decode())
"""


def count(disk, before):
    (disk.folder / "metrics").mkdir(exist_ok=True)
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(disk.folder / "metrics")}
    command = [sys.executable, "-c", COUNT.format(before=before), str(disk.folder)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_counters_go_on_when_the_disk_fills(disk):
    done = count(disk, "DELIVERED.inc(2)\ndisk.fill()")
    assert done.returncode == 0, done.stderr
    assert "alive" in done.stdout
    assert "headrace_deliveries_succeeded_total 5.0" in done.stdout, "its page was taken at the start"


def test_a_process_that_starts_on_a_full_disk_counts_in_memory(disk):
    (disk.folder / "metrics").mkdir()
    disk.fill()
    done = count(disk, "")
    assert done.returncode == 0, done.stderr
    assert "alive" in done.stdout
    assert "goes on counting in memory" in done.stderr


def test_what_fits_is_shared_as_before(disk):
    done = count(disk, "disk.fill(leave=1 << 20)")
    assert done.returncode == 0, done.stderr
    assert "headrace_deliveries_succeeded_total 3.0" in done.stdout
    assert done.stdout.count("headrace_events_accepted_total{") == 2_000


COUNTED = "from headrace.telemetry.metrics import DELIVERED; DELIVERED.inc(3)"
SHOWN = "from headrace.telemetry.metrics import exposition; print(exposition().decode()); exposition()"


def run(code, folder: Path):
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)


def shown_after(folder: Path, fault: Fault):
    """What is shown when the files of one process are damaged, and those of another are whole."""
    run(COUNTED, folder)
    damaged = [path.name for path in folder.iterdir()]
    run(COUNTED, folder)
    damage(folder, folder, damaged, fault, seed=3)
    return run(SHOWN, folder)


def test_what_is_damaged_is_left_out_and_told_once(tmp_path):
    shown = shown_after(tmp_path, Fault.EMPTY)
    assert "headrace_deliveries_succeeded_total 3.0" in shown.stdout
    told = [line for line in shown.stderr.splitlines() if "can't be read" in line]
    assert told
    assert len(told) == len(set(told))


@pytest.mark.parametrize(
    "fault", [Fault.FLIP_HEAD, Fault.HALVE, Fault.SHORTEN, Fault.REMOVE, Fault.FLIP_MIDDLE, Fault.FLIP_END]
)
def test_damage_never_hides_the_metrics_of_others(tmp_path, fault):
    total = [
        line
        for line in shown_after(tmp_path, fault).stdout.splitlines()
        if line.startswith("headrace_deliveries_succeeded_total")
    ]
    assert total in (["headrace_deliveries_succeeded_total 3.0"], ["headrace_deliveries_succeeded_total 6.0"])


def test_a_folder_that_was_removed_is_told(tmp_path):
    shown = run(SHOWN, tmp_path / "gone")
    assert shown.stderr.count("was removed") == 1
