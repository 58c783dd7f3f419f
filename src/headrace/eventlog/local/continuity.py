"""Check that a log is the one that outbox, ledger and archive were made from, and all of it.

They hold positions. A log that ends before one of these would give it to another event, which then counts as routed,
delivered or archived already, and is silently lost. So a start is refused where the log doesn't fit these references.
Where an operator accepts that, the log goes on behind every position that any of them knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogReplaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.eventlog.damage import Damage
    from headrace.eventlog.local.identity import LogIdentity


class LogReference(NamedTuple):
    """What `holder` knows of a log: `end` is behind every position it knows, `log` which log that was."""

    holder: str
    end: int
    log: LogIdentity | None = None


@dataclass(frozen=True, slots=True)
class Continuity:
    """All references to a log. `set_aside` is called with positions that are skipped, before they are."""

    references: Sequence[LogReference] = ()
    set_aside: Callable[[Damage], object] = lambda _: None

    @property
    def end(self) -> int:
        """The position behind every known one."""
        return max((reference.end for reference in self.references), default=0)

    @property
    def starts(self) -> int:
        """How many starts of the log are known."""
        return max((reference.log.starts for reference in self.references if reference.log), default=0)

    @property
    def names(self) -> set[str]:
        """The names of the logs that they were made from."""
        return {reference.log.name for reference in self.references if reference.log is not None}

    def is_foreign(self, own: LogIdentity | None) -> bool:
        """Tell whether the log is not the one that any reference is to."""
        logs = [reference.log for reference in self.references if reference.log is not None]
        return own is not None and bool(logs) and not any(map(own.continues, logs))

    def check(self, folder: Path, own: LogIdentity | None, end: int) -> None:
        """Raise LogReplaced where the log isn't the one they refer to, or ends before a position they know."""
        problems = [problem for each in self.references if (problem := _problem(each, own, end)) is not None]
        if problems:
            raise LogReplaced(folder, problems, end, max(end, self.end))


def _problem(reference: LogReference, own: LogIdentity | None, end: int) -> str | None:
    what, known, log = reference
    if end < known:
        return f"{what} knows positions up to {known}, and the log ends at {end}"
    if log is None:
        return None
    if own is None:
        return f"{what} is of the log {log.name}, and nothing says that this is that log"
    if not own.continues(log):
        return f"{what} is of the log {log.name}, and this is the log {own.name}"
    if own.is_older_than(log):
        return (
            f"{what} knows of start {log.starts} of the log, and this is a copy of it from start {own.starts}"
        )
    return None
