"""A role that listens as the process it is, without the supervisor and the other roles."""

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from headrace.config import load_config, write_snapshot
from headrace.service.processes.service import free_port

_START_SECONDS = 180.0  # on a machine that others use, too; a role that ends is noticed at once


class HttpRole:
    def __init__(self, data: Path, role: str = "http", **settings: Any) -> None:
        self.data = data
        self._role = role
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._run = data / "run"
        self._run.mkdir(parents=True, exist_ok=True)
        overrides = {"data": str(data), "api.port": self.port} | {
            key.replace("__", "."): value for key, value in settings.items()
        }
        write_snapshot(load_config(None, overrides, {}), self._run / f"{self._role}.json")

    @property
    def output(self) -> str:
        return (self._run / f"{self._role}.output").read_text()

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "headrace.service.role",
            self._role,
            str(self._run / f"{self._role}.json"),
        ]
        with (self._run / f"{self._role}.output").open("wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=output)

    def __enter__(self) -> Self:
        self.start()
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.url + "/healthz", timeout=5).close()
        except (urllib.error.URLError, OSError):
            return False
        return True
