"""No request holds the event loop for more than a tenth of a second, and none is answered with a failure."""

import http.client
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.api.corpus import CORPUS

LONGEST_SECONDS = 0.1
LONGEST_REFUSAL = 64 << 10


class Outcome(NamedTuple):
    status: int
    body: bytes
    standstill: float
    kind: str
    peak: int


class Watched:
    """The service in a process of its own, whose loop is watched."""

    def __init__(self, folder: Path) -> None:
        with (folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.api.watched", str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                cwd=Path(__file__).parents[2],
            )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.folder = folder

    def look(self) -> tuple[float, str, int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        longest, kind, peak = self._process.stdout.readline().split()
        return float(longest), kind, int(peak)

    def ask(self, case):
        body = case.body()
        self.look()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            status, answer = _talk(connection, case, body)
        finally:
            connection.close()
        return Outcome(status, answer, *self.look())

    def close(self) -> str:
        self._process.communicate(timeout=60)
        return (self.folder / "output").read_text()


def _talk(connection, case, body):
    with suppress(BrokenPipeError, ConnectionResetError):  # it may be refused before all of it is sent
        connection.request(case.method, case.path, body or None, case.headers)
    response = connection.getresponse()
    return response.status, response.read()


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    running = Watched(tmp_path_factory.mktemp("watched"))
    yield running
    output = running.close()
    assert "Traceback" not in output, output


@pytest.mark.parametrize("case", CORPUS, ids=[case.name for case in CORPUS])
def test_the_loop_never_stands_still(watched, case):
    outcome = watched.ask(case)
    assert outcome.status in case.statuses, outcome.body[:500]
    assert outcome.standstill < LONGEST_SECONDS, outcome.kind
    if outcome.status >= 400 and not case.name.startswith("import"):  # it tells of up to 1,000 lines
        assert len(outcome.body) < LONGEST_REFUSAL


def test_the_watchdog_barks():
    """What holds the loop is noticed: a test that can't fail shows nothing."""
    code = (
        "import asyncio, time, uvloop\nfrom tests.api.watchdog import Watchdog\n"
        "async def main():\n  dog = Watchdog(); task = asyncio.create_task(dog.run()); await asyncio.sleep(0.1)\n"
        "  calm, _ = dog.longest; HOLD; await asyncio.sleep(0.1); print(calm, *dog.longest)\nuvloop.run(main())\n"
    )
    holds = {
        "work": "end = time.thread_time() + 0.3\n  while time.thread_time() < end: pass\n  pass",
        "blocked": "time.sleep(0.3)",
        "held": "n = (1 << 3_000_000) - 1; await asyncio.to_thread(lambda: n * (n - 2))",
    }
    for kind, hold in holds.items():
        found = subprocess.run(
            [sys.executable, "-c", code.replace("HOLD", hold)],
            check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2],
        ).stdout.split()  # fmt: skip
        assert float(found[0]) < LONGEST_SECONDS < float(found[1]), kind
        assert found[2] == kind
