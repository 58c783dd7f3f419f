"""quamina: a Go library, fetched by `go`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace_bench.match.peers.peer import Peer, data_line, json_line
from headrace_bench.match.peers.program import built, step, tool
from headrace_bench.match.rules import quamina_pattern

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace_bench.match.rules import AnyRule

_NAME = "quamina"
MODULE = "quamina.net/go/quamina/v2@v2.0.2"


def _write(rule: AnyRule) -> str | None:
    return json_line(quamina_pattern(rule))


def _build(say: Callable[[str], None]) -> list[str]:
    go = tool("go", _NAME, "/usr/local/go/bin")

    def build(folder: Path) -> None:
        say("fetching quamina with go")
        step([go, "mod", "init", "headrace/quaminapeer"], folder, _NAME)
        step([go, "get", MODULE], folder, _NAME)
        step([go, "build", "-o", "quaminapeer", "."], folder, _NAME)

    return [str(built("quamina", ("main.go",), build) / "quaminapeer")]


QUAMINA = Peer(_NAME, _write, data_line, _build, lacks="ranges of numbers and regular expressions")
