"""The account of what was accepted and what arrived, and the verdict on what is missing."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

_LONGEST = 400


class Verdict(StrEnum):
    DELIVERED = "delivered"
    """Everything that was accepted arrived."""
    TOLD = "told"
    """Something is missing or refused, and an operator was told which file or which positions."""
    LOST = "LOST"
    """Something that was accepted didn't arrive, and nobody was told."""
    CRASHED = "CRASHED"
    """A traceback, death by a signal, or a role that dies again and again."""

    @property
    def is_good(self) -> bool:
        return self in (Verdict.DELIVERED, Verdict.TOLD)


@dataclass
class Account:
    """One producer, so an event's position is the number of those accepted before it, as long as nothing is skipped.

    `since` says from which number on a subscription wants the events; nothing is expected yet of those in `later`,
    whose sinks refuse.
    """

    since: dict[str, int] = field(default_factory=dict)
    accepted: list[str] = field(default_factory=list)
    arrived: Counter[tuple[str, str]] = field(default_factory=Counter)
    journal: Path | None = None
    later: set[str] = field(default_factory=set)

    def accept(self, ids: Sequence[str]) -> None:
        """Take down what was accepted; with a journal it outlives this process."""
        self.accepted += ids
        self._write(*(f"accepted {each}" for each in ids))

    def arrive(self, name: str, id_: str) -> None:
        self.arrived[name, id_] += 1
        self._write(f"{name} {id_}")

    def go_on(self, journal: Path) -> None:
        """Write to a journal from here on; what it holds already counts."""
        lines = journal.read_text().splitlines() if journal.exists() else []
        for name, _, id_ in (line.partition(" ") for line in lines):
            if name == "accepted":
                self.accepted.append(id_)
            else:
                self.arrived[name, id_] += 1
        self.journal = journal

    def _write(self, *lines: str) -> None:
        if self.journal is not None:
            with self.journal.open("a") as file:
                file.writelines(f"{line}\n" for line in lines)

    def missing(self) -> dict[str, set[int]]:
        """Numbers of accepted events that didn't arrive, by subscription."""
        found = {
            name: {
                number
                for number in range(since, len(self.accepted))
                if not self.arrived[name, self.accepted[number]]
            }
            for name, since in self.since.items()
            if name not in self.later
        }
        return {name: numbers for name, numbers in found.items() if numbers}

    def repeated(self) -> int:
        return self.arrived.total() - len(self.arrived)


@dataclass
class Telling:
    """Everything that an operator was told, each where they would look for it.

    `dead` are the dead letters, by subscription and position. A refusal is about what had been accepted before it,
    `until` there; what is accepted later has to arrive, or to be set aside. `gone` are the subscriptions that a rebuilt
    store lacks, and of which its operator was told to make them again.
    """

    refusals: list[str] = field(default_factory=list)
    until: int = 0
    standing: list[str] = field(default_factory=list)
    set_aside: list[range] = field(default_factory=list)
    dead: set[tuple[str, int]] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    crashes: list[str] = field(default_factory=list)

    def accept_damage(self) -> None:
        """The service goes on without what is damaged: from here on it has to be set aside, position by position."""
        self.until = 0

    def rebuilt(self, name: str, lost: Collection[str], *, complete: bool, names: Mapping[str, str]) -> None:
        """A database was rebuilt. Its operator was told of lost subscriptions by their ids, or that some are lost."""
        if name == "ledger":
            self.accept_damage()  # the log is whole, so everything arrives, perhaps again
        else:
            self.gone = {names[each] for each in lost if each in names} if complete else {*names.values()}

    def rebuildable(self) -> str | None:
        """Which database a refusal says an operator can rebuild."""
        found = re.search(r"headrace restore[^.;]*?--rebuild[ =](\w+)", " ".join(self.refusals))
        return found[1] if found else None

    def specific(self, names: Collection[str]) -> str | None:
        """What named the file or its positions; a sentence that could be about anything counts for nothing."""
        told = [text for text in (*self.refusals, *self.standing) if _is_specific(text, names)]
        return told[0] if told else None

    def accounts_for(self, name: str, number: int, names: Collection[str]) -> bool:
        if (
            name in self.gone
            or (name, number) in self.dead
            or any(number in positions for positions in self.set_aside)
        ):
            return True
        if any(_is_specific(text, names) for text in self.standing):
            return True
        return number < self.until and any(_is_specific(text, names) for text in self.refusals)


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    missing: int
    accounted: int
    repeated: int
    detail: str


def judge(account: Account, telling: Telling, names: Iterable[str]) -> Outcome:
    """LOST goes before CRASHED, since a crash that loses nothing is the smaller fault."""
    words = sorted({name for name in names if name})
    missing = list(_each(account.missing()))
    silent = [each for each in missing if not telling.accounts_for(*each, words)]
    told = telling.specific(words) or (
        "set aside" if telling.set_aside else "dead letters" if missing else ""
    )
    if silent:
        texts = [_summary(silent), *telling.crashes, *telling.refusals, *telling.standing]
        verdict, detail = Verdict.LOST, "; ".join(texts)
    elif telling.crashes:
        verdict, detail = Verdict.CRASHED, telling.crashes[0]
    else:
        verdict, detail = (Verdict.TOLD if missing or told else Verdict.DELIVERED), told
    accounted = len(missing) - len(silent)
    return Outcome(verdict, len(missing), accounted, account.repeated(), " ".join(detail.split())[:_LONGEST])


def _each(missing: dict[str, set[int]]) -> Iterator[tuple[str, int]]:
    for name, numbers in missing.items():
        yield from ((name, number) for number in sorted(numbers))


def _summary(silent: list[tuple[str, int]]) -> str:
    by_name = Counter(name for name, _ in silent)
    numbers = [number for _, number in silent]
    return f"{dict(by_name)}, positions {min(numbers)} to {max(numbers)}"


def _is_specific(text: str, names: Collection[str]) -> bool:
    """A file's name, or positions from one to another; a position alone is in many a message that tells nothing."""
    return any(name in text for name in names) or re.search(r"\bpositions \d+ to \d+", text) is not None
