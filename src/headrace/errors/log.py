"""Errors of the event log and the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors.base import HeadraceError, Temporary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class LogError(HeadraceError):
    """The event log can't do what was asked."""

    code = "log"


class LogUnavailable(LogError, Temporary):
    """Nothing was appended; the same events may be sent again after `retry_after` seconds.

    Where a broker fell silent nobody knows (`is_certain` is false), and sending again may store them twice.
    """

    code = "log-unavailable"

    def __init__(self, reason: str, retry_after: int = 1, *, is_certain: bool = True) -> None:
        outcome = "nothing was stored" if is_certain else "it isn't known whether it was stored"
        super().__init__(f"{reason}; {outcome}, try again in {retry_after} s")
        self.retry_after = retry_after
        self.is_certain = is_certain


class BrokerUnavailable(LogError):
    """The Kafka brokers don't answer, or not in time."""

    code = "broker-unavailable"
    http_status = 503

    def __init__(self, bootstrap: str, reason: str) -> None:
        super().__init__(
            f"Kafka at {bootstrap} can't be used: {reason}; "
            "see that a broker listens there, or set kafka.bootstrap"
        )
        self.bootstrap = bootstrap


class LogBehind(LogError, Temporary):
    """Accepted events wait to be routed, more than the limit allows; try again after `retry_after` seconds."""

    code = "log-behind"
    http_status = 429

    def __init__(self, backlog: int, limit: int, retry_after: int = 1, *, unit: str = "events") -> None:
        super().__init__(
            f"{backlog} {unit} wait to be routed and the limit is {limit}; try again in {retry_after} s"
        )
        self.backlog = backlog
        self.limit = limit
        self.retry_after = retry_after


class DeliveryBehind(LogError, Temporary):
    """Planned deliveries wait to be read, more than the limit allows; try again after `retry_after` seconds."""

    code = "delivery-behind"
    http_status = 429

    def __init__(self, backlog: int, limit: int, retry_after: int = 1) -> None:
        super().__init__(
            f"{backlog} bytes of planned deliveries wait for the dispatcher and the limit is {limit}; "
            f"try again in {retry_after} s"
        )
        self.backlog = backlog
        self.limit = limit
        self.retry_after = retry_after


class DiskNearlyFull(LogError, Temporary):
    """Nothing was appended: what room is left is for what was accepted before. Try again after `retry_after` s."""

    code = "disk-nearly-full"
    http_status = 507

    def __init__(self, folder: Path, free: int, limit: int, retry_after: int = 10) -> None:
        super().__init__(
            f"{free} bytes are free for {folder} and {limit} have to stay free; nothing was stored. "
            f"Make room there, then try again; it is looked at all the time"
        )
        self.free = free
        self.limit = limit
        self.retry_after = retry_after


class LogExpired(LogError):
    """Events that were asked for have been removed: retention was faster than their reader."""

    code = "log-expired"

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what} is no longer kept; {problem}. Ask again from where the log begins now")


class LogDamaged(LogError):
    """Bytes that were durable once can't be read any more. Nothing is cut: an operator decides how to start."""

    code = "log-damaged"

    def __init__(self, path: Path | str, offset: int, problem: str) -> None:
        super().__init__(
            f"{path} is damaged at byte {offset}: {problem}. "
            "Restore the file from a copy, or set log.accept_damage to go on without the events it held."
        )
        self.path = str(path)
        self.offset = offset


class LogReplaced(LogError):
    """The log isn't the one that others remember, or an older copy: its positions would be given away twice.

    `end` is where the log ends and `known` behind every position that somebody remembers. Nothing was changed.
    """

    code = "log-replaced"

    def __init__(self, path: Path | str, problems: Sequence[str], end: int, known: int) -> None:
        lost = f" (positions {end} to {known - 1} among them)" if known > end else ""
        super().__init__(
            f"the log in {path} doesn't fit what was made from it: {'; '.join(problems)}. New events would take "
            f"positions that count as routed already. Put the newer log back, or start once with "
            f"HEADRACE_LOG_ACCEPT_DAMAGE=true to go on at position {known} without the events that are missing{lost}."
        )
        self.path = str(path)
        self.problems = tuple(problems)
        self.end = end
        self.known = known


class LogLocked(LogError):
    """Two writers would tear the log apart."""

    code = "log-locked"

    def __init__(self, path: Path | str, holder: str) -> None:
        super().__init__(f"{path} is written by another process ({holder}); stop it or use another --data")


class OutboxGap(HeadraceError):
    """A range that starts behind what is covered so far: the events between would never be routed."""

    code = "outbox-gap"

    def __init__(self, covered: object, start: object) -> None:
        super().__init__(f"the outbox covers positions up to {covered}, the next range starts at {start}")
        self.covered = covered
        self.start = start
