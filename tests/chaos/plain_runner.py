"""Runs cases in the process of `plain_cases`, and starts it again where a fault has killed it."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.chaos.account import Outcome, Verdict
from tests.chaos.faults import Fault

_ROOT = Path(__file__).parents[2]
_LIMIT = 180.0  # a process that says nothing for so long hangs, and is killed
_DEATHS = 3  # of a process in one case: it doesn't come back by being started again


class Case(NamedTuple):
    state: str
    kind: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.state} · {self.kind} · {self.fault}"


class PlainRunner:
    """One process at a time, in a folder of its own; `close` ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._output = folder / "output.txt"
        self._death = ""
        self._process: subprocess.Popen[str] | None = None
        self._kinds: dict[str, dict[str, list[str]]] = {}
        self._start()

    def cases(self, state: str, fault: Fault | None = None) -> Iterator[Case]:
        """Every case of a state, in the order of the kinds."""
        for kind, faults in self._kinds[state].items():
            for each in faults:
                if fault in (None, each):
                    yield Case(state, kind, Fault(each))

    def run(self, case: Case) -> Outcome | None:
        """None where the fault changes nothing. A process that dies is started again, as a supervisor does it."""
        for deaths in range(_DEATHS):
            answer = self._ask(case, deaths)
            if answer is None:
                continue
            if not answer["verdict"]:
                return None
            note = f" (after {deaths} death of its process: {self._death})" if deaths else ""
            detail = answer["detail"] + note
            return Outcome(**answer | {"verdict": Verdict(answer["verdict"]), "detail": detail})
        return Outcome(Verdict.CRASHED, 0, 0, 0, f"its process died {_DEATHS} times: {self._death}")

    def _ask(self, case: Case, deaths: int) -> dict[str, Any] | None:
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(case._asdict() | {"deaths": deaths}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if answer is None:
            self._death = self._ended()
        return answer

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._ended()

    def _start(self) -> None:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), str(_ROOT)]),
            "SSL_CERT_FILE": os.devnull,  # each start reads all authorities else, and nothing here speaks TLS
        }
        with self._output.open("a") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.plain_cases", str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=environment,
                text=True,
            )
        kinds = self._answer()
        if kinds is None:
            raise RuntimeError(f"the cases can't be prepared:\n{self._output.read_text()}")
        self._kinds = kinds

    def _answer(self) -> dict[str, Any] | None:
        assert self._process is not None
        assert self._process.stdout is not None
        is_said, _, _ = select.select([self._process.stdout], [], [], _LIMIT)
        if not is_said:
            self._process.kill()
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def _ended(self) -> str:
        assert self._process is not None
        status = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process = None
        if status < 0:
            return signal.Signals(-status).name
        said = self._output.read_text(errors="replace").split("\n")
        return f"status {status}, {next((line for line in reversed(said) if line), 'silent')}"
