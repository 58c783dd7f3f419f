"""Headrace's parts as on several machines: one process group each, with a data folder that no other part sees."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

_PATIENCE = 240.0


class Part:
    """One `headrace` command that stays; its supervisor and its role are killed together, as a machine fails."""

    def __init__(self, folder: Path, name: str, *command: str) -> None:
        self.name = name
        self.is_killed = False
        self._output = folder / f"{name}.output"
        self._command = [sys.executable, "-m", "headrace", *command, "--data", str(folder / name)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, settings: Mapping[str, str]) -> None:
        environment = os.environ | {f"HEADRACE_{key}": value for key, value in settings.items()}
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=output, env=environment, start_new_session=True
            )

    def said(self) -> str:
        return self._output.read_text(errors="replace")

    def wait_until_ready(self) -> None:
        self.wait(lambda: "Ready" in self.said())

    def wait(self, holds: Callable[[], bool], seconds: float = _PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert self._process is not None
            assert self._process.poll() is None, f"{self.name} ended: {self.said()[-3000:]}"
            assert time.monotonic() < deadline, f"{self.name}: {self.said()[-3000:]}"
            time.sleep(0.1)

    def kill(self) -> None:
        if self._process is not None and not self.is_killed:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self.is_killed = True
