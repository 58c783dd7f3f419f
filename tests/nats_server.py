"""A real NATS server as a child process, with JetStream, in a folder of its own; it may be killed and comes back."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.service.processes.service import free_port

_CONFIG = """
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{folder}" }}
"""


def find_program() -> str:
    """Find the server, or skip the test where it isn't installed."""
    found = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        pytest.skip("no NATS server here (scripts/install-servers; Debian: apt-get install nats-server)")
    return found


class NatsServer:
    """`more` is added to its configuration."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self._program = find_program()
        self._folder = folder
        self.port = free_port()
        self._file = folder / "nats.conf"
        self._file.write_text(_CONFIG.format(port=self.port, folder=folder) + more)

    def start(self) -> None:
        with (self._folder / "nats.log").open("ab") as output:
            self._process = subprocess.Popen(
                [self._program, "-c", str(self._file)], stdout=output, stderr=output, start_new_session=True
            )
        deadline = time.monotonic() + 30
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self._process.poll() is None, (self._folder / "nats.log").read_text()[-2000:]
            assert time.monotonic() < deadline, "the NATS server doesn't start"
            time.sleep(0.02)

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
