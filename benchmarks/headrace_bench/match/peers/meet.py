"""A peer on the rules and events of a workload: files written, its program run, its answer read."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headrace_bench.match.peers.peer import Answer, PeerMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.events.event import Event
    from headrace_bench.match.peers.peer import Peer
    from headrace_bench.match.rules import AnyRule

_STARTS_WITHIN = 600
"""Seconds that a peer may take to read and build, besides the passes."""


@dataclass(frozen=True, slots=True)
class Met:
    """How many rules the peer had words for, and what it found with them."""

    rules: int
    answer: Answer


def meet(
    peer: Peer, command: Sequence[str], rules: Iterable[AnyRule], events: Sequence[Event], seconds: float
) -> Met:
    """Run the peer; raise `PeerMissing` where it can't say any of the rules, fails or takes too long."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        rule_file, event_file = Path(folder) / "rules", Path(folder) / "events"
        written = _write_rules(peer, rules, rule_file)
        if not written:
            raise PeerMissing(f"peer {peer.name} left out: it lacks {peer.lacks}")
        with event_file.open("wb") as file:
            file.writelines(peer.feed(event) + b"\n" for event in events)
        return Met(written, _run(peer, [*command, str(rule_file), str(event_file), str(seconds)], seconds))


def _write_rules(peer: Peer, rules: Iterable[AnyRule], to: Path) -> int:
    written = 0
    with to.open("w", encoding="utf-8") as file:
        for number, rule in enumerate(rules):
            text = peer.write(rule)
            if text is not None:
                file.write(f"{number}\t{text}\n")
                written += 1
    return written


def _run(peer: Peer, command: Sequence[str], seconds: float) -> Answer:
    patience = _STARTS_WITHIN + 10 * seconds
    try:
        done = subprocess.run(command, capture_output=True, timeout=patience, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise PeerMissing(f"peer {peer.name} left out: it took over {patience:.0f} s") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise PeerMissing(f"peer {peer.name} left out: its program failed and said: {said[0][:300]}")
    return msgspec.json.decode(done.stdout, type=Answer)
