"""The whole run: every workload with every number of rules, Headrace first and then its peers."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from headrace_bench.match.child import measured_apart
from headrace_bench.match.measure import Task
from headrace_bench.match.peers.meet import meet
from headrace_bench.match.peers.peer import PeerMissing
from headrace_bench.match.peers.table import PEERS
from headrace_bench.match.report import Report
from headrace_bench.match.timing import spread
from headrace_bench.match.workloads.table import chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.events.event import Event
    from headrace_bench.match.peers.meet import Met
    from headrace_bench.match.peers.peer import Peer
    from headrace_bench.match.workloads.table import Workload

    Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """What to measure. No `rules` means the sizes that each workload has by itself."""

    workloads: tuple[str, ...]
    rules: tuple[int, ...] = ()
    events: int = 10_000
    seconds: float = 5.0
    batch: int = 2_048
    seed: int = 11
    peers: bool = False


def run(plan: MatchPlan, say: Say) -> Report:
    """Measure. What differs between Headrace and a peer is in the report; whoever prints it must fail then."""
    report = Report(_machine(), msgspec.to_builtins(plan))
    commands = dict(_built_peers(report, say)) if plan.peers else {}
    for workload in chosen(plan.workloads):
        for rules in plan.rules or workload.sizes:
            _measure(_Case(plan, workload, rules), commands, report, say)
    return report


@dataclass(frozen=True, slots=True)
class _Case:
    plan: MatchPlan
    workload: Workload
    rules: int

    def measured(self, kind: Any, say: Say, sayable_by: str | None = None) -> dict[str, Any]:
        plan, place = self.plan, f"{self.workload.name}, {self.rules:,} rules"
        task = Task(
            kind,
            self.workload.name,
            self.rules,
            plan.events,
            plan.seed,
            plan.seconds,
            plan.batch,
            sayable_by,
        )
        return measured_apart(task, lambda what: say(f"{place}: {what}"))


def _built_peers(report: Report, say: Say) -> Iterator[tuple[str, list[str]]]:
    for name, peer in PEERS.items():
        say(f"building {name}")
        try:
            yield name, peer.build(say)
        except PeerMissing as missing:
            report.left_out.append(str(missing))


def _measure(case: _Case, commands: Mapping[str, Sequence[str]], report: Report, say: Say) -> None:
    figures = case.measured("speed", say) | case.measured("memory", say)
    counts = figures.pop("counts")
    report.rows.append({"workload": case.workload.name, **figures})
    if not commands:
        return
    events = case.workload.events(case.plan.events, case.plan.seed)
    report.peers.append(_headrace_row(case, figures))
    for name, command in commands.items():
        say(f"{case.workload.name}, {case.rules:,} rules: {name}")
        try:
            met = _met(case, PEERS[name], command, events)
        except PeerMissing as missing:
            report.left_out.append(f"{case.workload.name}, {case.rules:,} rules: {missing}")
            continue
        ours = counts
        if met.rules < case.rules:
            figures = case.measured("rates", say, sayable_by=name)
            ours = figures.pop("counts")
            report.peers.append(_headrace_row(case, figures, f"without what {name} can't say"))
        report.peers.append(_peer_row(case, name, met))
        report.compare(case.workload.name, case.rules, name, ours, met.answer.counts)


def _met(case: _Case, peer: Peer, command: Sequence[str], events: Sequence[Event]) -> Met:
    if peer.most_rules is not None and case.rules > peer.most_rules:
        raise PeerMissing(
            f"peer {peer.name} left out: more than {peer.most_rules:,} rules are too many for it"
        )
    rules = case.workload.rules(case.rules, case.plan.seed)
    return meet(peer, command, rules, events, case.plan.seconds)


def _headrace_row(case: _Case, figures: Mapping[str, Any], note: str = "") -> dict[str, Any]:
    return {
        "workload": case.workload.name,
        "rules": figures["rules"],
        "engine": "headrace",
        "events": figures["events"],
        "events_per_second": figures["events_per_second"],
        "wall_events_per_second": figures["wall_events_per_second"],
        "matches_per_event": figures["matches_per_event"],
        "build_seconds": figures["build_seconds"],
        "memory_bytes": figures.get("bytes"),
        "note": note,
    }


def _peer_row(case: _Case, name: str, met: Met) -> dict[str, Any]:
    answer = met.answer
    return {
        "workload": case.workload.name,
        "rules": met.rules,
        "engine": f"{name} {answer.version}",
        "events": len(answer.counts),
        "events_per_second": msgspec.to_builtins(spread(answer.rates)),
        "wall_events_per_second": msgspec.to_builtins(spread(answer.wall_rates)),
        "matches_per_event": sum(answer.counts) / len(answer.counts),
        "build_seconds": answer.build_seconds,
        "memory_bytes": answer.memory_bytes,
        "note": "",
    }


def _machine() -> dict[str, Any]:
    return {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}
