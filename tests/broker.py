"""A real Kafka broker as a child process: one node, in a folder of its own, that can be killed and comes back."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.service.processes.service import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
OPTIONS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{listeners}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{listeners}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
"""


def find_jars() -> Path:
    """Fetch the broker's jars, or skip the test where that can't be done."""
    for tool in ("mvn", "java"):
        if shutil.which(tool) is None:
            pytest.skip(f"no Kafka broker: there is no {tool} on this machine")
    fetched = subprocess.run([ROOT / "scripts/fetch-jars"], capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"no Kafka broker: its jars can't be fetched: {fetched.stderr[-300:]}")
    return Path(fetched.stdout.strip())


class Broker:
    """One node. `kill` is a SIGKILL; `start` brings it back with everything that it had acknowledged."""

    def __init__(self, folder: Path, listeners: str = "", properties: str = "") -> None:
        """Take further listeners, each after a comma, and further properties."""
        self._folder = folder
        self._jars = find_jars()
        self.port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._file = folder / "server.properties"
        filled = PROPERTIES.format(port=self.port, controller=free_port(), folder=folder, listeners=listeners)
        self._file.write_text(filled + properties)
        # An id that began with a dash would be taken for an option.
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")
        subprocess.run(
            self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._file)),
            check=True,
            capture_output=True,
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._folder / "broker.log").open("ab") as output:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self._file)),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + 90
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self._process.poll() is None, self.said()[-2000:]
            assert time.monotonic() < deadline, "the broker doesn't start"
            time.sleep(0.1)

    def said(self) -> str:
        return (self._folder / "broker.log").read_text(errors="replace")

    def kill(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Keep the connections open, and let nothing come over them."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def _java(self, *arguments: str) -> list[str]:
        return ["java", *OPTIONS, "-cp", f"{self._jars}/*", *arguments]
