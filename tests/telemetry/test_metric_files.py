"""Counters on a full disk: a process that counts is never killed for it."""

import os
import subprocess
import sys

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
