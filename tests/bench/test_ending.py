"""A benchmark that is ended takes its service with it."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from headrace.service.processes.process_table import parent_of, session_processes


def service_of(starter):
    """The session of the service that a process has started; None before it has."""
    started = [
        int(entry.name) for entry in Path("/proc").glob("[0-9]*") if parent_of(int(entry.name)) == starter
    ]
    return next((each for each in started if each in session_processes(each)), None)


async def until(holds, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    return found


BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
"""A shell has what it starts in the background ignore Ctrl-C."""


@pytest.mark.parametrize(
    ("how", "shell"),
    [(signal.SIGTERM, []), (signal.SIGTERM, BACKGROUND), (signal.SIGKILL, [])],
    ids=["SIGTERM", "SIGTERM in the background", "SIGKILL"],
)
async def test_its_service_goes_with_it(tmp_path, how, shell):
    bench = await asyncio.create_subprocess_exec(
        *shell, sys.executable, "-m", "headrace", "bench", "ingress", "--seconds", "60",
        env=os.environ | {"TMPDIR": str(tmp_path)}, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    service = await until(lambda: service_of(bench.pid))
    await until(lambda: any(b"http" in command for command in session_processes(service).values()))
    bench.send_signal(how)
    await asyncio.wait_for(bench.wait(), 30)
    await until(lambda: not session_processes(service))
    if how == signal.SIGTERM:
        assert list(tmp_path.iterdir()) == []
