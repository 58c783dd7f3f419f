"""The table of workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headrace_bench.match.workloads.citylots import CityLots
from headrace_bench.match.workloads.github import GitHub
from headrace_bench.match.workloads.skew import Skew
from headrace_bench.match.workloads.worst import WORST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.events.event import Event
    from headrace_bench.match.rules import AnyRule


class Workload(Protocol):
    """The same seed and counts give the same rules and events, in whatever process."""

    @property
    def name(self) -> str:
        """What the figures are filed under."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many rules to measure it with, unless told otherwise."""

    def rules(self, count: int, seed: int) -> Iterable[AnyRule]:
        """Return so many rules."""

    def events(self, count: int, seed: int) -> list[Event]:
        """Return so many events, each with an id of its own."""


CHOICES: Mapping[str, tuple[Workload, ...]] = {
    "citylots": (CityLots(),),
    "github": (GitHub(),),
    "worst": WORST,
    "skew": (Skew(),),
}
"""What can be chosen, and what is measured for it."""

LETTERS: Mapping[str, str] = dict(zip("abcd", CHOICES, strict=True))

WORKLOADS: Mapping[str, Workload] = {each.name: each for group in CHOICES.values() for each in group}


def chosen(names: Iterable[str]) -> tuple[Workload, ...]:
    """Return the workloads of these choices, letters or `all`, each once and in the order of the table."""
    wanted = {LETTERS.get(name, name) for name in names}
    return tuple(
        each for name, group in CHOICES.items() if name in wanted or "all" in wanted for each in group
    )
