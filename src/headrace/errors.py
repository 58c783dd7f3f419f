"""Every error Headrace raises on purpose.

    HeadraceError
    ├── ConfigError               a setting is unknown or has a value that can't be used
    ├── InvalidEvent              not a CloudEvent; carries every fault found
    ├── UnsupportedFormat         an event format or encoding this service doesn't read
    ├── PayloadTooLarge           above the configured size
    ├── SentTooSlowly             the body of a request did not come in time
    ├── FilterError               a filter that can't be compiled; carries where and why
    ├── InvalidSubscription       a subscription object with faults; carries the property's path
    ├── InvalidImport             lines that can't become subscriptions; carries their numbers and faults
    ├── InvalidChannel            a channel object with faults
    ├── InvalidManifest           a Knative object with faults; carries the property's path
    ├── InvalidRequest            a request with faults; carries the property's path
    ├── NotFound                  no such subscription, channel or job
    ├── Conflict                  the request contradicts what exists
    ├── PreconditionFailed        what was to be changed isn't any more what the request says it is
    ├── Unauthenticated           nobody knows who is asking; carries the challenge
    ├── CrossOrigin               a page of another origin lets a browser ask for a change
    ├── WrongHost                 the request is addressed to a name that isn't this service's
    ├── Forbidden                 it is known who is asking, and they may not do this
    ├── QuotaExceeded             a namespace has as much of something as it may have
    ├── RateExceeded              events come faster to a namespace than they may
    ├── IssuerUnavailable         the keys of an OpenID provider can't be had now
    ├── InterestRefused           what a channel's subscriptions want is not told
    ├── StoreUnavailable          the database can't be reached or used now
    │   └── DatabaseDamaged       its file is damaged, missing, or another one than it was
    ├── SchemaRefused             the tables are of a version that this Headrace doesn't know
    ├── BackupRefused             a backup can't be made or put back so; nothing was changed
    ├── SecretsLocked             secrets can't be sealed or opened: their key is missing or another one
    ├── CredentialUnusable        a token that has expired, and no new one can be got
    ├── RefreshFailed             a token endpoint gave no new token
    ├── NoDispatcher              no dispatcher did what was asked of it in time
    ├── LogError
    │   ├── LogUnavailable        can't append now, may work later (disk full, queue full)
    │   ├── BrokerUnavailable     the Kafka brokers don't answer
    │   ├── LogBehind             routing lags too far behind to take more events
    │   ├── DeliveryBehind        delivery lags too far behind to take more events
    │   ├── DiskNearlyFull        the room that is left is for what was accepted already
    │   ├── LogExpired            events that were asked for are no longer kept
    │   ├── LogDamaged            bytes that were once durable can't be read any more
    │   ├── LogReplaced           another log, or an older copy, than outbox and ledger were made from
    │   └── LogLocked             another process writes this log
    ├── ArchiveError
    │   ├── ArchiveRefused        a manifest that is broken, or of another version or another log
    │   ├── ArchiveDamaged        a file of archived events that is missing or can't be read
    │   └── ArchiveBusy           another process writes this archive
    ├── SnapshotRefused           a file of the index that is broken, or of another version
    ├── UnreadableExport          bytes that were exported once, damaged or of another version
    ├── JobLost                   the job was cancelled, or somebody else has taken it over
    ├── OutboxGap                 a range was skipped: writing it would lose deliveries
    ├── RefusedAddress            nobody may be delivered to there, unless an operator allows it
    ├── JavaNotFound              Spark needs a Java runtime
    ├── MasterUnreachable         no Spark master answers
    ├── VersionDiffers            a machine of the Spark cluster has another Headrace than the driver
    ├── ServiceUnreachable        no Headrace answers at the address
    ├── ClusterRefused            a Kubernetes API server refused a call or can't be reached
    ├── ServiceRefused            it answered with an error; carries the status and the problem
    ├── JobFailed                 a job that was waited for failed or was cancelled
    └── RedriveFailed             a redrive that was waited for failed or was cancelled

Each has a stable `code`, which the HTTP API returns in its problem documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


_SHOWN_BEFORE, _SHOWN_AFTER = 80, 40
_LONGEST_NAME = 120


MOST_FAULTS = 20
"""As many faults are told; of the others how many they are."""
_LONGEST_FAULT = 500


class HeadraceError(Exception):
    """The root. `code` never changes once released; the message may."""

    code: ClassVar[str] = "internal"


def first_line(error: BaseException) -> str:
    """Return what an error says, in a line: one that comes from Java carries a page."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    return text if isinstance(error, HeadraceError | OSError) else f"{type(error).__name__}: {text}"


class ConfigError(HeadraceError):
    """A setting that is unknown or unusable. The message names the key, the value and where it came from."""

    code = "config"


class InvalidEvent(HeadraceError):
    """Not a CloudEvent. `faults` lists what is wrong with it, not only the first thing.

    Of a batch there may be `more` faults than are listed, and events that were not looked at.
    """

    code = "invalid-event"

    def __init__(self, faults: Sequence[str], more: int = 0, unexamined: int = 0) -> None:
        rest = f"; {unexamined:,} more events were not looked at" if unexamined else ""
        super().__init__(_summary(faults, more) + rest)
        self.faults = tuple(faults)
        self.more = more
        self.unexamined = unexamined


class UnsupportedFormat(HeadraceError):
    """A media type or encoding that isn't read here. `supported` lists those that are."""

    code = "unsupported-format"

    def __init__(self, given: str, supported: Sequence[str]) -> None:
        super().__init__(f"{given!r} is not supported; send one of: {', '.join(supported)}")
        self.given = given
        self.supported = tuple(supported)


class PayloadTooLarge(HeadraceError):
    """More bytes than the limit allows."""

    code = "payload-too-large"

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{what} is larger than the limit of {limit} bytes")
        self.limit = limit


class SentTooSlowly(HeadraceError):
    """The body of a request did not come in time."""

    code = "sent-too-slowly"

    def __init__(self, what: str, idle: float, longest: float) -> None:
        super().__init__(
            f"nothing more of {what} came for {idle:g} seconds, or it took longer than {longest:g} seconds in all; "
            "nothing was done, send it again"
        )
        self.idle = idle
        self.longest = longest


class TextFault(str):
    """What is wrong with a text: the problem, and below it the line with a caret. The parts of that are fields.

    `line` and `column` count from 1; `text` is what is shown of the line, and `caret` goes below it.
    """

    __slots__ = ("caret", "column", "line", "text")

    line: int
    column: int
    text: str
    caret: str

    def __new__(cls, problem: str, source: str, position: int) -> Self:
        """Put it together."""
        before = source[:position]
        line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1)
        start = max(0, column - _SHOWN_BEFORE)
        text = source.split("\n")[line - 1].rstrip("\r")[start : column + _SHOWN_AFTER]
        caret = " " * (column - start) + "^"
        fault = super().__new__(cls, f"{problem} (line {line}, column {column + 1})\n  {text}\n  {caret}")
        fault.line, fault.column, fault.text, fault.caret = line, column + 1, text, caret
        return fault

    def document(self) -> dict[str, Any]:
        """Return the fields, as the API shows them beside the whole."""
        return {"line": self.line, "column": self.column, "text": self.text, "caret": self.caret}


class FilterError(HeadraceError):
    """A filter that can't be compiled. It is never dropped and never treated as true.

    `path` says where in the filter object (`filters[0].all[1].exact`), `position` where in an expression's
    text, if the fault lies in one. `value` is what was refused, `limit` the name of the limit that was passed.
    """

    code = "invalid-filter"

    def __init__(
        self,
        problem: str,
        *,
        path: str = "",
        source: str | None = None,
        position: int | None = None,
        value: object = None,
        limit: str | None = None,
    ) -> None:
        self.problem = problem
        self.path = path
        self.value = value
        self.limit = limit
        self.source = source
        self.position = position
        super().__init__(f"{path}: {self.detail}" if path else self.detail)

    @property
    def detail(self) -> str:
        """What is wrong, with the line and a caret where the fault lies in an expression's text."""
        if self.source is None or self.position is None:
            return self.problem
        return TextFault(self.problem, self.source, self.position)


class InvalidSubscription(HeadraceError):
    """A subscription that can't be created. `faults` maps a property's path to what is wrong with it."""

    code = "invalid-subscription"

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__(_summary_of_paths(faults))
        self.faults = tuple(faults)


class InvalidImport(HeadraceError):
    """Some of many subscriptions are faulty, so that none was created. `lines` has the faults of the first of them."""

    code = "invalid-import"

    def __init__(self, refused: int, lines: Sequence[tuple[int, Sequence[tuple[str, str]]]]) -> None:
        super().__init__(
            f"{refused} line{'s' if refused != 1 else ''} can't be used and nothing was created; "
            "correct them, or ask to have them skipped"
        )
        self.refused = refused
        self.lines = tuple(lines)


class InvalidChannel(HeadraceError):
    """A channel that can't be made so. `faults` maps a property's path to what is wrong with it, where it has paths."""

    code = "invalid-channel"

    def __init__(self, problem: str, faults: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(problem)
        self.faults = tuple(faults)


class InvalidManifest(HeadraceError):
    """A Knative object that is not accepted. `faults` maps a property's path to what is wrong with it."""

    code = "invalid-manifest"

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__(_summary_of_paths(faults))
        self.faults = tuple(faults)


class InvalidRequest(HeadraceError):
    """A request that can't be met. `faults` maps a property's path to what is wrong with it."""

    code = "invalid-request"

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__(_summary_of_paths(faults))
        self.faults = tuple(faults)


class NotFound(HeadraceError):
    """There is no such thing."""

    code = "not-found"

    def __init__(self, kind: str, name: str) -> None:
        shown = repr(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")
        super().__init__(f"there is no {kind} {shown}")
        self.kind = kind
        self.name = name


class Conflict(HeadraceError):
    """The request contradicts what exists."""

    code = "conflict"


class PreconditionFailed(HeadraceError):
    """Somebody changed the thing since the request's author looked at it. `etag` is what it has now."""

    code = "precondition-failed"

    def __init__(self, kind: str, name: str, etag: str) -> None:
        super().__init__(
            f"{kind} {name} was changed since you looked at it: its ETag is {etag}; look at it again, "
            "and send the request with that"
        )
        self.etag = etag


class Unauthenticated(HeadraceError):
    """It is not known who is asking. `reason` is empty where they said nothing about it."""

    code = "unauthenticated"

    def __init__(self, reason: str = "") -> None:
        what = f"{reason}; send" if reason else "this needs"
        super().__init__(f"{what} an API key or a token: Authorization: Bearer …")
        self.reason = reason

    @property
    def challenge(self) -> str:
        """What stands in `WWW-Authenticate` (RFC 6750)."""
        fault = f', error="invalid_token", error_description="{self.reason}"' if self.reason else ""
        return f'Bearer realm="headrace"{fault}'


class CrossOrigin(HeadraceError):
    """A page of another origin lets a browser ask for a change."""

    code = "cross-origin"

    def __init__(self) -> None:
        super().__init__(
            "a browser sends this for a page of another origin, which may not change anything here"
        )


class WrongHost(HeadraceError):
    """The request names a host that isn't this service, so it may be meant for somebody else."""

    code = "wrong-host"

    def __init__(self, host: str) -> None:
        shown = repr(host if len(host) <= _LONGEST_NAME else f"{host[:_LONGEST_NAME]}…")
        super().__init__(
            f"{shown} is no name of this service; use localhost or the address it listens on, or add the name to "
            "api.allowed_hosts (HEADRACE_API_ALLOWED_HOSTS)"
        )
        self.host = host


class Forbidden(HeadraceError):
    """Whoever asks may not do this; `role` is what it takes, and where."""

    code = "forbidden"

    def __init__(self, who: str, role: str, namespace: str) -> None:
        where = "every namespace (*)" if namespace == "*" else f"namespace {namespace!r}"
        super().__init__(f"{who} may not do this: it takes the role '{role}' in {where}")
        self.role = role
        self.namespace = namespace


class QuotaExceeded(HeadraceError):
    """Nothing was made: the namespace has as much as it may have, or the filters cost more than they may."""

    code = "quota-exceeded"

    def __init__(self, namespace: str, quota: str, limit: int, current: int, remedy: str) -> None:
        super().__init__(
            f"namespace {namespace!r} has a quota {quota} of {limit}, and this would make it {current}; {remedy}, "
            f"or let an operator raise it: headrace quotas set {namespace}"
        )
        self.namespace, self.quota, self.limit, self.current = namespace, quota, limit, current


class RateExceeded(HeadraceError):
    """Nothing was stored; the same events may be sent again after `retry_after` seconds."""

    code = "rate-exceeded"

    def __init__(self, namespace: str, limit: float, retry_after: int) -> None:
        super().__init__(
            f"namespace {namespace!r} may send {limit:g} events a second and sends more; nothing was stored, "
            f"try again in {retry_after} s, or let an operator raise it: headrace quotas set {namespace}"
        )
        self.namespace, self.limit, self.retry_after = namespace, limit, retry_after


class IssuerUnavailable(HeadraceError):
    """Tokens of an issuer can't be checked until its keys can be had."""

    code = "issuer-unavailable"

    def __init__(self, issuer: str, reason: str, retry_after: int = 10) -> None:
        super().__init__(
            f"the keys of {issuer} can't be had ({reason}), so its tokens can't be checked; "
            f"try again in {retry_after} s"
        )
        self.issuer, self.retry_after = issuer, retry_after


class InterestRefused(HeadraceError):
    """An operator decided that publishers aren't told what is wanted: they send everything."""

    code = "interest-refused"

    def __init__(self, channel: str) -> None:
        super().__init__(
            f"what the subscriptions of channel {channel} want is not told here: send every event"
        )


class StoreUnavailable(HeadraceError):
    """The database is lost, for now. `unknown` where it was lost in a commit, which may have got through."""

    code = "store-unavailable"

    def __init__(self, reason: str, *, unknown: bool = False, retry_after: int = 2) -> None:
        outcome = (
            "whether the change was made is unknown: look before you repeat it"
            if unknown
            else "nothing was changed"
        )
        super().__init__(f"the database can't be used ({reason}); {outcome}, try again in {retry_after} s")
        self.unknown = unknown
        self.retry_after = retry_after


class DatabaseDamaged(StoreUnavailable):
    """A database's file is damaged, missing or another one than it was. It stays so until an operator decides.

    `name` is what commands call the database, `held` says what is in it, `finding` what is wrong with it.
    """

    code = "database-damaged"

    def __init__(self, path: Path, name: str, held: str, finding: str, *, may_accept: bool = False) -> None:
        accept = f", or go on with it as it is: `headrace restore --accept {name}`" if may_accept else ""
        HeadraceError.__init__(
            self,
            f"the database {path} can't be used: {finding}. It holds {held}, and nothing more is written to it. "
            f"Stop the service, then put a backup back: `headrace restore --from FOLDER --only {name}`, or keep what "
            f"can be read of it: `headrace restore --rebuild {name}`{accept}",
        )
        self.path, self.name, self.held, self.finding = path, name, held, finding
        self.unknown, self.retry_after = False, 60


class SchemaRefused(HeadraceError):
    """Tables that can't be worked with. Nothing was changed in them: an operator decides."""

    code = "schema-refused"

    def __init__(self, family: str, database: str, problem: str, remedy: str) -> None:
        super().__init__(f"the tables of {family!r} in {database} {problem}. {remedy}.")
        self.family = family
        self.database = database


class BackupRefused(HeadraceError):
    """A backup can't be made there, or can't be put back. The message says what to do; nothing was changed."""

    code = "backup-refused"


class SecretsLocked(HeadraceError):
    """Secrets stay closed until the operator gives the right key. Nothing is lost by it."""

    code = "secrets-locked"


class CredentialUnusable(HeadraceError):
    """Nothing can be sent with a subscription's credential; asking again makes sense after `retry_after` seconds."""

    code = "credential-unusable"

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class RefreshFailed(HeadraceError):
    """No token was got. `is_final` says that the refresh token itself is not accepted."""

    code = "refresh-failed"

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class NoDispatcher(HeadraceError):
    """Only dispatchers reach sinks, and none did within `seconds` what it was asked for."""

    code = "no-dispatcher"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"no dispatcher answered within {seconds:g} s; see GET /readyz whether one runs, then try again"
        )
        self.seconds = seconds


class LogError(HeadraceError):
    """The event log can't do what was asked."""

    code = "log"


class LogUnavailable(LogError):
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

    def __init__(self, bootstrap: str, reason: str) -> None:
        super().__init__(
            f"Kafka at {bootstrap} can't be used: {reason}; "
            "see that a broker listens there, or set kafka.bootstrap"
        )
        self.bootstrap = bootstrap


class LogBehind(LogError):
    """Accepted events wait to be routed, more than the limit allows; try again after `retry_after` seconds."""

    code = "log-behind"

    def __init__(self, backlog: int, limit: int, retry_after: int = 1, *, unit: str = "events") -> None:
        super().__init__(
            f"{backlog} {unit} wait to be routed and the limit is {limit}; try again in {retry_after} s"
        )
        self.backlog = backlog
        self.limit = limit
        self.retry_after = retry_after


class DeliveryBehind(LogError):
    """Planned deliveries wait to be read, more than the limit allows; try again after `retry_after` seconds."""

    code = "delivery-behind"

    def __init__(self, backlog: int, limit: int, retry_after: int = 1) -> None:
        super().__init__(
            f"{backlog} bytes of planned deliveries wait for the dispatcher and the limit is {limit}; "
            f"try again in {retry_after} s"
        )
        self.backlog = backlog
        self.limit = limit
        self.retry_after = retry_after


class DiskNearlyFull(LogError):
    """Nothing was appended: what room is left is for what was accepted before. Try again after `retry_after` s."""

    code = "disk-nearly-full"

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


class ArchiveError(HeadraceError):
    """The archive can't do what was asked."""

    code = "archive"


class ArchiveRefused(ArchiveError):
    """What the archive consists of can't be told. Nothing is changed: an operator decides."""

    code = "archive-refused"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"the archive's manifest {path} can't be used: {problem}. Restore it from a copy, "
            "or set archive.path to another folder to begin a new archive."
        )
        self.path = path


class ArchiveDamaged(ArchiveError):
    """A file of past events can't be read. Queries that need it fail rather than answer without its events.

    `held` says what was in it.
    """

    code = "archive-damaged"

    def __init__(self, path: str, problem: str, held: str) -> None:
        super().__init__(
            f"the archive's file {path} can't be used: {problem}. It held {held}. Restore it from a copy, "
            "or give its events up: headrace archive forget"
        )
        self.path = path
        self.held = held


class ArchiveBusy(ArchiveError):
    """Two writers would take files from under one another."""

    code = "archive-busy"

    def __init__(self, path: str) -> None:
        super().__init__(f"another process writes the archive {path} at the moment; try again in a minute")


class SnapshotRefused(HeadraceError):
    """A file of the index that can't be used. It can be deleted: the next one is written from the subscriptions."""

    code = "snapshot-refused"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"the index in {path} can't be used: {problem}")
        self.path = path


class UnreadableExport(HeadraceError):
    """Bytes that can't be read back. `what` they should be, and `reason` why they aren't."""

    code = "unreadable-export"

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"this is not {what} that can be read here: {reason}")
        self.what = what
        self.reason = reason


class JobLost(HeadraceError):
    """Who works on a job has to stop: it was cancelled, or somebody else works on it now."""

    code = "job-lost"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id} was cancelled, or another process has taken it over")


class OutboxGap(HeadraceError):
    """A range that starts behind what is covered so far: the events between would never be routed."""

    code = "outbox-gap"

    def __init__(self, covered: object, start: object) -> None:
        super().__init__(f"the outbox covers positions up to {covered}, the next range starts at {start}")
        self.covered = covered
        self.start = start


class RefusedAddress(HeadraceError):
    """An address outside the public internet that no operator has allowed.

    `host` is what was asked for, `address` what it led to, `rule` what that address is. `literal`: the host is the
    address itself, so that asking again can't change anything.
    """

    code = "refused-address"

    def __init__(self, address: str, rule: str, host: str, *, literal: bool) -> None:
        found = address if host == address else f"{address}, which {host!r} leads to,"
        super().__init__(
            f"{found} is {rule}: nothing is delivered there unless delivery.allow_networks has its range"
        )
        self.address = address
        self.rule = rule
        self.host = host
        self.literal = literal


class JavaNotFound(HeadraceError):
    """Spark runs on Java 17 or newer and none was found."""

    code = "java-not-found"


class MasterUnreachable(HeadraceError):
    """No Spark master answers at the address; it may do so later."""

    code = "master-unreachable"

    def __init__(self, master: str, reason: str) -> None:
        super().__init__(
            f"no Spark master answers at {master} ({reason}); start it, or correct --master (pipeline.master)"
        )
        self.master = master


class VersionDiffers(HeadraceError):
    """A machine of the Spark cluster has another Headrace than the driver: what it finds might differ, too."""

    code = "version-differs"

    def __init__(self, machine: str, found: str, wanted: str) -> None:
        super().__init__(
            f"{machine} has version {found} of Headrace, and the driver {wanted}; install the same on every machine"
        )
        self.machine = machine


class ServiceUnreachable(HeadraceError):
    """Nobody answers at the address that a client was given."""

    code = "service-unreachable"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"no Headrace answers at {url} ({reason}); start one with `headrace up`, or give its --url"
        )
        self.url = url


class ServiceRefused(HeadraceError):
    """The service answered with an error; `problem` is its problem document."""

    code = "service-refused"

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail", f"the service answered with status {status}")))
        self.status = status
        self.problem = dict(problem)


class ClusterRefused(HeadraceError):
    """The API server of a cluster refused a call; `status` is 0 where it can't be reached."""

    code = "cluster-refused"

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class JobFailed(HeadraceError):
    """A job ended without what was asked for; `job` is its document."""

    code = "job-failed"

    def __init__(self, job: Mapping[str, Any]) -> None:
        reason = job.get("error") or "nobody said why"
        super().__init__(f"the {job['kind']} {job['id']} {_ENDS[job['state']]}: {reason}")
        self.job = dict(job)


class RedriveFailed(HeadraceError):
    """A redrive ended before everything was moved; `redrive` is its document."""

    code = "redrive-failed"

    def __init__(self, redrive: Mapping[str, Any]) -> None:
        reason = redrive.get("error") or f"{redrive['moved']} of {redrive['found']} deliveries were moved"
        super().__init__(f"the redrive {redrive['id']} {_ENDS[redrive['state']]}: {reason}")
        self.redrive = dict(redrive)


_ENDS = {"failed": "failed", "cancelled": "was cancelled"}


def _summary(faults: Sequence[str], more: int = 0) -> str:
    """Join faults, as many as are told, and say how many there are besides."""
    more += max(0, len(faults) - MOST_FAULTS)
    return "; ".join(map(shortened, faults[:MOST_FAULTS])) + (f"; and {more:,} more" if more else "")


def _summary_of_paths(faults: Sequence[tuple[str, str]]) -> str:
    first = [f"{path}: {problem}" if path else problem for path, problem in faults[:MOST_FAULTS]]
    return _summary(first, max(0, len(faults) - MOST_FAULTS))


def shortened(text: str, longest: int = _LONGEST_FAULT) -> str:
    """Return a text, cut where it gets long: an error must not repeat a whole document."""
    return text if len(text) <= longest else f"{text[:longest]}…"
