"""Whether a log is the one that outbox, ledger and archive were made from, and all of it.

They remember positions. A log that ends before one of these would give it to another event, which then counts as
routed, delivered or archived already, and is lost without a word. So a start is refused where log and witnesses don't
fit. Where that is accepted, the log goes on behind every position that any of them knows.
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


class Witness(NamedTuple):
    """Somebody who remembers a log: `end` is behind every position it knows, `log` which log that was."""

    what: str
    end: int
    log: LogIdentity | None = None


@dataclass(frozen=True, slots=True)
class Continuity:
    """Who remembers the log. `set_aside` is told of positions that are passed over, before they are."""

    witnesses: Sequence[Witness] = ()
    set_aside: Callable[[Damage], object] = lambda _: None

    @property
    def end(self) -> int:
        """The position behind every one that somebody knows."""
        return max((witness.end for witness in self.witnesses), default=0)

    @property
    def starts(self) -> int:
        """How many starts of the log anybody knows of."""
        return max((witness.log.starts for witness in self.witnesses if witness.log), default=0)

    @property
    def names(self) -> set[str]:
        """The logs that they were made from."""
        return {witness.log.name for witness in self.witnesses if witness.log is not None}

    def is_foreign(self, own: LogIdentity | None) -> bool:
        """Tell whether the log is another one than everybody remembers."""
        logs = [witness.log for witness in self.witnesses if witness.log is not None]
        return own is not None and bool(logs) and not any(map(own.goes_on_from, logs))

    def check(self, folder: Path, own: LogIdentity | None, end: int) -> None:
        """Raise LogReplaced where the log isn't the one they remember, or ends before what they know."""
        problems = [problem for each in self.witnesses if (problem := _problem(each, own, end)) is not None]
        if problems:
            raise LogReplaced(folder, problems, end, max(end, self.end))


def _problem(witness: Witness, own: LogIdentity | None, end: int) -> str | None:
    what, known, log = witness
    if end < known:
        return f"{what} knows positions up to {known}, and the log ends at {end}"
    if log is None:
        return None
    if own is None:
        return f"{what} is of the log {log.name}, and nothing says that this is that log"
    if not own.goes_on_from(log):
        return f"{what} is of the log {log.name}, and this is the log {own.name}"
    if own.is_older_than(log):
        return (
            f"{what} knows of start {log.starts} of the log, and this is a copy of it from start {own.starts}"
        )
    return None
