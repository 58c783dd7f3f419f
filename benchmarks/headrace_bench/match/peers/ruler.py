"""AWS Event Ruler: a Java library, fetched by Maven."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace_bench.match.peers.peer import Peer, data_line, json_line
from headrace_bench.match.peers.program import built, step, tool
from headrace_bench.match.rules import ruler_pattern

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace_bench.match.rules import AnyRule

_NAME = "event-ruler"


def _write(rule: AnyRule) -> str | None:
    return json_line(ruler_pattern(rule))


def _build(say: Callable[[str], None]) -> list[str]:
    java, javac, maven = (tool(name, _NAME) for name in ("java", "javac", "mvn"))

    def build(folder: Path) -> None:
        say("fetching event-ruler with mvn")
        step([maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"], folder, _NAME)
        step([javac, "-cp", os.path.join("lib", "*"), "-d", "classes", "RulerPeer.java"], folder, _NAME)  # noqa: PTH118

    folder = built("ruler", ("pom.xml", "RulerPeer.java"), build)
    # One collector thread, as everything here is measured on one core.
    options = ["-XX:+UseSerialGC", "-XX:MaxRAMPercentage=60"]
    return [
        java,
        *options,
        "-cp",
        os.pathsep.join([str(folder / "classes"), str(folder / "lib" / "*")]),
        "RulerPeer",
    ]


RULER = Peer(_NAME, _write, data_line, _build, lacks="regular expressions")
