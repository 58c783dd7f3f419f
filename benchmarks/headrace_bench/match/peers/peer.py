"""What the benchmark knows about another engine.

Each is a program: `program RULES EVENTS SECONDS`. RULES holds a line per rule: its id, a tab, and the rule in the
engine's language. EVENTS holds a line of JSON per event. It prints `Answer` as JSON; `timing` has the law of passes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headrace.errors import HeadraceError
from headrace_bench.match.timing import Passes

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.events.event import Event
    from headrace_bench.match.rules import AnyRule

    Say = Callable[[str], None]


class PeerMissing(HeadraceError):
    """The peer can't be had on this machine; says why."""

    code = "peer-missing"


class Answer(Passes, frozen=True):
    """What a peer's program found. Memory is what its rules hold after a collection."""

    version: str
    build_seconds: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Peer:
    """`write` gives None for a rule the engine has no words for; `build` the command, or raises `PeerMissing`."""

    name: str
    write: Callable[[AnyRule], str | None]
    feed: Callable[[Event], bytes]
    build: Callable[[Say], list[str]]
    lacks: str = ""
    most_rules: int | None = None


def cache_folder(name: str) -> Path:
    """Return where a peer's program is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "headrace" / "peers" / name


def json_line(pattern: object) -> str | None:
    """Return a pattern as one line."""
    return None if pattern is None else msgspec.json.encode(pattern).decode()


def data_line(event: Event) -> bytes:
    """Return the event's data alone: what engines get that know nothing of CloudEvents."""
    return event.data or b"{}"
