"""One data folder's service, `headrace up` as operators run it, and everything that an operator can learn from it."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from tests.chaos.account import Telling

from headrace.client import Client
from headrace.errors import HeadraceError, ServiceRefused, ServiceUnreachable
from headrace.events.event import Event
from headrace.service.processes.process_table import role_processes, session_processes
from headrace.service.processes.service import ServiceProcess, free_port
from headrace.subscriptions.tables import SUBSCRIPTIONS

SETTINGS = {
    "LOG_SEGMENT_BYTES": "4000",
    "ARCHIVE_INTERVAL_SECONDS": "1",
    "DELIVERY_RETRIES": "1000",
    "DELIVERY_BACKOFF_SECONDS": "0.2",
    "DELIVERY_BACKOFF_MAX_SECONDS": "1",
    "DELIVERY_BREAKER_FAILURES": "0",
    "DELIVERY_ALLOW_NETWORKS": '["127.0.0.0/8"]',
    "API_MIN_FREE_BYTES": "0",
}
_TRACEBACK = "Traceback (most recent call last)"
_DEATHS = 3  # of one role in one start: it doesn't come back by being started again
_START_SECONDS = 400.0
WITHOUT_SPARK = os.pathsep.join(
    [str(Path(__file__).parent / "without_spark"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
"""The PYTHONPATH of a service that routes without Spark."""


class ServiceRun:
    """From one start to its end."""

    def __init__(self, data: Path, output: Path, settings: dict[str, str], *, spark: bool) -> None:
        output.unlink(missing_ok=True)
        self.process = ServiceProcess(data, free_port(), output, SETTINGS | settings)
        if not spark:
            self.process._environment["PYTHONPATH"] = WITHOUT_SPARK

    @property
    def is_well(self) -> bool:
        """False where the service has ended or dies again and again."""
        return self.process.is_running and not self.deaths()

    async def start(self) -> bool:
        """Whether it became ready: not where it ended, or dies again and again."""
        self.process.start()
        async with Client(self.process.url) as client:
            for _ in range(int(_START_SECONDS / 0.25)):
                if not self.is_well:
                    return False
                with suppress(ServiceUnreachable):
                    if (await client.readiness()).get("ready"):
                        return True
                await asyncio.sleep(0.25)
        return False

    async def end(self) -> None:
        """Kill it and wait until no process of it holds a file: Spark takes long to stop, and a kill loses nothing."""
        if not self.process.is_running:
            return
        session = self.process.pid
        self.process.kill()
        while session_processes(session):
            await asyncio.sleep(0.05)

    def freeze(self, role: str, *, frozen: bool) -> None:
        """Hold a role's process, so that what is planned meanwhile waits for it; or let it go on."""
        for process in role_processes(self.process.pid, role):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP if frozen else signal.SIGCONT)

    def deaths(self) -> list[str]:
        ended = re.findall(r"role (\w+) ended with status (-?\d+)", self._said())
        times = Counter(role for role, _ in ended)
        return [
            f"role {role} ended {count} times, with {dict(ended)[role]}"
            for role, count in times.items()
            if count >= _DEATHS
        ]

    def tell(self, telling: Telling, accepted: int) -> None:
        """Take down what the process said, and how it ended."""
        said = self._said()
        if _TRACEBACK in said:
            telling.crashes.append(f"a traceback: {_last_of_traceback(said)}")
        telling.crashes += self.deaths()
        if not self.process.is_running:
            lines = [line.partition("ERROR")[2].strip() for line in said.splitlines() if " ERROR " in line]
            telling.refusals += lines[-3:] or said.splitlines()[-1:]
            telling.until = accepted

    async def standing(self) -> list[str]:
        """What `/readyz` says where it isn't ready."""
        told = []
        with suppress(HeadraceError):
            async with Client(self.process.url) as client:
                readiness = await client.readiness()
                if not readiness.get("ready"):
                    told.append(json.dumps(readiness, ensure_ascii=False))
        return told

    def examine(self) -> list[str]:
        """What `headrace doctor` finds at fault."""
        found = command(self.process.data, "doctor", "--json").stdout
        with suppress(json.JSONDecodeError):
            faults = [each for each in json.loads(found).values() if not each["good"]]
            return [f"{each['what']}: {each['remedy']}" for each in faults]
        return []

    def _said(self) -> str:
        return self.process.output.read_text(errors="replace") if self.process.output.exists() else ""


def command(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `headrace …` on a data folder."""
    environment = os.environ | {"HEADRACE_DATA": str(data), "HEADRACE_API_PORT": str(free_port())}
    return subprocess.run(
        [sys.executable, "-m", "headrace", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def next_step(data: Path, telling: Telling, names: Mapping[str, str]) -> dict[str, str] | None:
    """Do what a refusal asks an operator to do, and return the settings to start with; None where it asks nothing.

    `names` are those of the subscriptions, by id.
    """
    name = telling.rebuildable()
    if name is not None:
        done = command(data, "restore", "--rebuild", name, "--json")
        telling.refusals.append(done.stdout + done.stderr)
        if done.returncode == 0:
            told = json.loads(done.stdout)
            tables = [each["complete"] for each in told["tables"] if each["table"] == SUBSCRIPTIONS.name]
            complete = all(tables) and told["finding"] is None
            telling.rebuilt(name, told["lost_subscriptions"], complete=complete, names=names)
        return {}
    if any("accept_damage" in text.lower() for text in telling.refusals):
        return {"LOG_ACCEPT_DAMAGE": "true"}
    return None


async def publish(client: Client, events: list[Event]) -> str | None:
    """Send events; None where they were accepted, or what the producer was told."""
    try:
        await client.publish_batch(events)
    except ServiceRefused as refused:
        return f"{refused.status}: {refused}"
    except ServiceUnreachable as error:
        return str(error)
    return None


def _last_of_traceback(said: str) -> str:
    """The line that says what went wrong, of a group of errors that of the last."""
    behind = said.partition(_TRACEBACK)[2].splitlines()[1:]
    lines = takewhile(lambda line: not re.match(r"\d{4}-\d\d-\d\d ", line), behind)
    return ([line.strip(" |+-") for line in lines if line.strip(" |+-")] or [""])[-1]
