"""The service as a child process, for the demo, the benchmarks and the tests."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from headrace.client import Client
from headrace.errors import ServiceUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def free_port() -> int:
    """Return a port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ServiceProcess:
    """`headrace up` on a data folder, in a process group of its own; its output goes to `output`.

    It stops when this process is gone, however that went.
    """

    def __init__(
        self, data: Path, port: int, output: Path, settings: Mapping[str, str] | None = None
    ) -> None:
        self.data = data
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.output = output
        self._environment = os.environ | {f"HEADRACE_{key}": value for key, value in (settings or {}).items()}
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: int | None = None

    def start(self) -> None:
        """Start the service; `wait_until_ready` returns once it can be used."""
        command = [
            sys.executable,
            "-m",
            "headrace",
            "up",
            "--port",
            str(self.port),
            "--data",
            str(self.data),
            "--end-with-input",
        ]
        self._let_go()
        its_end, self._lifeline = os.pipe()
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603
                command,
                stdin=its_end,
                stdout=output,
                stderr=output,
                env=self._environment,
                start_new_session=True,
            )
        os.close(its_end)

    async def wait_until_ready(
        self, seconds: float = 240.0, on_wait: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        """Wait until every role is ready; TimeoutError and RuntimeError carry the end of the output."""
        try:
            async with asyncio.timeout(seconds), Client(self.url) as client:
                while True:
                    readiness = await _readiness(client)
                    if readiness.get("ready"):
                        return
                    if on_wait:
                        on_wait(readiness)
                    if self._process is None or self._process.poll() is not None:
                        raise RuntimeError(f"the service ended while starting:\n{self.tail()}")
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise TimeoutError(f"the service isn't ready after {seconds:g} s:\n{self.tail()}") from None

    def stop(self, seconds: float = 60.0) -> int:
        """Stop the service, wait for its end, and return the exit status."""
        assert self._process is not None  # noqa: S101  start() comes first
        self._process.terminate()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            self._let_go()

    def kill(self) -> None:
        """SIGKILL all processes of the service at once, like a power cut."""
        assert self._process is not None  # noqa: S101  start() comes first
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def tail(self, lines: int = 30) -> str:
        """Return the end of the output."""
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The supervisor's process id, which is also that of the process group."""
        assert self._process is not None  # noqa: S101  start() comes first
        return self._process.pid


async def _readiness(client: Client) -> dict[str, Any]:
    try:
        return await client.readiness()
    except ServiceUnreachable:
        return {}
