"""One measurement in a process of its own, so that sizes don't disturb one another.

The task goes in as JSON on standard input. Lines of JSON come out: what it is doing, then the figures.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import HeadraceError
from headrace_bench.match.measure import Task, measure

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = (sys.executable, "-m", __name__)


def measured_apart(task: Task, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure in a new process; raise what went wrong in it."""
    figures: dict[str, Any] | None = None
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603
        assert child.stdin is not None  # noqa: S101  both are pipes
        assert child.stdout is not None  # noqa: S101
        try:
            child.stdin.write(msgspec.json.encode(task))
            child.stdin.close()
            for line in child.stdout:
                said = msgspec.json.decode(line)
                if isinstance(said, str):
                    say(said)
                else:
                    figures = said
        except BaseException:
            child.kill()
            raise
    if figures is None:
        raise HeadraceError(
            f"measuring {task.workload} with {task.rules:,} rules ended with {child.returncode}"
        )
    if "error" in figures:
        raise HeadraceError(f"{task.workload} with {task.rules:,} rules: {figures['error']}")
    return figures


def main() -> None:
    """Do the task that standard input holds."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    try:
        _write(measure(task, _write))
    except HeadraceError as error:
        _write({"error": str(error)})


def _write(value: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
