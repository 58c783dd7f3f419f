"""Every error Headrace raises on purpose.

    HeadraceError
    ├── ConfigError               a setting is unknown or its value can't be used
    ├── InvalidInput              input that can't be used as it is
    │   ├── InvalidEvent          not a CloudEvent; carries every fault found
    │   ├── FilterError           a filter that can't be compiled; carries where and why
    │   ├── InvalidImport         lines that can't become subscriptions; carries their numbers and faults
    │   └── InvalidDocument       carries the path and the problem of each fault
    │       ├── InvalidSubscription
    │       ├── InvalidChannel
    │       ├── InvalidManifest   a Knative object
    │       └── InvalidRequest
    ├── UnsupportedFormat         an event format or encoding this service doesn't read
    ├── PayloadTooLarge           above the configured size
    ├── SentTooSlowly             the body of a request did not come in time
    ├── NotFound                  no such subscription, channel or job
    ├── Conflict                  the request contradicts what exists
    ├── PreconditionFailed        the thing to be changed is no longer what the request says it is
    ├── Unauthenticated           it is not known who is asking; carries the challenge
    ├── CrossOrigin               a browser asks for a change on behalf of a page of another origin
    ├── WrongHost                 the request is addressed to a name that isn't this service's
    ├── Forbidden                 it is known who is asking, and they may not do this
    ├── QuotaExceeded             a namespace has as much of something as it may have
    ├── InterestRefused           publishers may not learn what a channel's subscriptions want
    ├── Temporary                 may succeed later; carries after how many seconds
    │   ├── RateExceeded          a namespace sends events faster than it may
    │   ├── IssuerUnavailable     the keys of an OpenID provider can't be fetched now
    │   ├── StoreUnavailable      the database can't be reached or used now
    │   │   └── DatabaseDamaged   its file is damaged, missing, or has been replaced by another
    │   ├── LogUnavailable        (a LogError) can't append now: disk full, queue full
    │   ├── LogBehind             (a LogError) routing lags too far behind to take more events
    │   ├── DeliveryBehind        (a LogError) delivery lags too far behind to take more events
    │   └── DiskNearlyFull        (a LogError) the space left is reserved for events already accepted
    ├── LogError
    │   ├── BrokerUnavailable     the Kafka brokers don't answer
    │   ├── LogExpired            the requested events are no longer kept
    │   ├── LogDamaged            bytes that were once durable can no longer be read
    │   ├── LogReplaced           another log, or an older copy, than the one outbox and ledger were made from
    │   └── LogLocked             another process writes this log
    ├── OutboxGap                 a range was skipped: writing it would lose deliveries
    ├── ArchiveError
    │   ├── ArchiveRefused        a manifest that is broken, or of another version or another log
    │   ├── ArchiveDamaged        a file of archived events that is missing or can't be read
    │   └── ArchiveBusy           another process writes this archive
    ├── SchemaRefused             the tables are of a version that this Headrace doesn't know
    ├── BackupRefused             a backup can't be made or restored like this; nothing was changed
    ├── SecretsLocked             secrets can't be sealed or opened: the key is missing or a different one
    ├── SnapshotRefused           an index file that is broken, or of another version
    ├── UnreadableExport          exported bytes that are damaged or of another version
    ├── NoDispatcher              no dispatcher did in time what it was asked for
    ├── CredentialUnusable        a token that has expired and can't be renewed now
    ├── RefreshFailed             a token endpoint gave no new token
    ├── RefusedAddress            nothing is delivered there unless an operator allows it
    ├── JavaNotFound              Spark needs a Java runtime
    ├── MasterUnreachable         no Spark master answers
    ├── VersionDiffers            a machine of the Spark cluster has another Headrace than the driver
    ├── JobLost                   the job was cancelled, or another process has taken it over
    ├── ClusterRefused            a Kubernetes API server refused a call or can't be reached
    ├── ServiceUnreachable        no Headrace answers at the address
    ├── ServiceRefused            it answered with an error; carries the status and the problem
    ├── JobFailed                 a job that was waited for failed or was cancelled
    └── RedriveFailed             a redrive that was waited for failed or was cancelled

Each has a stable `code`, which the HTTP API returns in its problem documents, and says with which status, headers and
further members the API answers. The modules group them by who raises them.
"""

from headrace.errors.access import (
    CrossOrigin,
    Forbidden,
    IssuerUnavailable,
    QuotaExceeded,
    RateExceeded,
    Unauthenticated,
    WrongHost,
)
from headrace.errors.archive import ArchiveBusy, ArchiveDamaged, ArchiveError, ArchiveRefused
from headrace.errors.base import ConfigError, HeadraceError, Temporary, first_line
from headrace.errors.client import JobFailed, RedriveFailed, ServiceRefused, ServiceUnreachable
from headrace.errors.controlplane import ClusterRefused, InvalidManifest
from headrace.errors.delivery import CredentialUnusable, NoDispatcher, RefreshFailed, RefusedAddress
from headrace.errors.events import InvalidEvent, PayloadTooLarge, SentTooSlowly, UnsupportedFormat
from headrace.errors.faults import MOST_FAULTS, InvalidDocument, InvalidInput, TextFault, lines_of, shortened
from headrace.errors.filters import FilterError
from headrace.errors.log import (
    BrokerUnavailable,
    DeliveryBehind,
    DiskNearlyFull,
    LogBehind,
    LogDamaged,
    LogError,
    LogExpired,
    LogLocked,
    LogReplaced,
    LogUnavailable,
    OutboxGap,
)
from headrace.errors.pipeline import JavaNotFound, JobLost, MasterUnreachable, VersionDiffers
from headrace.errors.requests import Conflict, InvalidRequest, NotFound, PreconditionFailed
from headrace.errors.storage import (
    BackupRefused,
    DatabaseDamaged,
    SchemaRefused,
    SecretsLocked,
    SnapshotRefused,
    StoreUnavailable,
    UnreadableExport,
)
from headrace.errors.subscriptions import InterestRefused, InvalidChannel, InvalidImport, InvalidSubscription

__all__ = [
    "MOST_FAULTS",
    "ArchiveBusy",
    "ArchiveDamaged",
    "ArchiveError",
    "ArchiveRefused",
    "BackupRefused",
    "BrokerUnavailable",
    "ClusterRefused",
    "ConfigError",
    "Conflict",
    "CredentialUnusable",
    "CrossOrigin",
    "DatabaseDamaged",
    "DeliveryBehind",
    "DiskNearlyFull",
    "FilterError",
    "Forbidden",
    "HeadraceError",
    "InterestRefused",
    "InvalidChannel",
    "InvalidDocument",
    "InvalidEvent",
    "InvalidImport",
    "InvalidInput",
    "InvalidManifest",
    "InvalidRequest",
    "InvalidSubscription",
    "IssuerUnavailable",
    "JavaNotFound",
    "JobFailed",
    "JobLost",
    "LogBehind",
    "LogDamaged",
    "LogError",
    "LogExpired",
    "LogLocked",
    "LogReplaced",
    "LogUnavailable",
    "MasterUnreachable",
    "NoDispatcher",
    "NotFound",
    "OutboxGap",
    "PayloadTooLarge",
    "PreconditionFailed",
    "QuotaExceeded",
    "RateExceeded",
    "RedriveFailed",
    "RefreshFailed",
    "RefusedAddress",
    "SchemaRefused",
    "SecretsLocked",
    "SentTooSlowly",
    "ServiceRefused",
    "ServiceUnreachable",
    "SnapshotRefused",
    "StoreUnavailable",
    "Temporary",
    "TextFault",
    "Unauthenticated",
    "UnreadableExport",
    "UnsupportedFormat",
    "VersionDiffers",
    "WrongHost",
    "first_line",
    "lines_of",
    "shortened",
]
