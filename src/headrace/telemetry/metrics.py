"""Every metric, in one place. All roles count into it; `/metrics` shows the sum over the processes.

prometheus_client shares counters between processes through files in PROMETHEUS_MULTIPROC_DIR; without that
variable a process counts for itself.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left
from collections import Counter as Counts
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import REGISTRY as OWN_PROCESS
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from headrace.telemetry.metric_files import ReadableMetrics, reserve_metric_files

if TYPE_CHECKING:
    from collections.abc import Sequence

reserve_metric_files()
_log = logging.getLogger(__name__)
# The damaged files that were reported already; /metrics is asked for all the time.
_told: set[str] = set()
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_CHANNEL = ("namespace", "channel")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Durations(Histogram):
    """A histogram without labels that takes many values at once: one write for each bucket, not for each value."""

    def observe_all(self, values: Sequence[float]) -> None:
        """Observe each of the values."""
        for bucket, count in Counts(bisect_left(self._upper_bounds, each) for each in values).items():
            self._buckets[bucket].inc(count)
        self._sum.inc(sum(values))


ACCEPTED = Counter("headrace_events_accepted", "Events answered with 202.", _CHANNEL)
MALFORMED = Counter("headrace_requests_malformed", "Requests answered with 400.", _CHANNEL)
REFUSED = Counter("headrace_requests_refused", "Requests answered with another error.", ("status",))
UNAUTHORIZED = Counter("headrace_unauthorized", "Requests refused because of who asked.", ("door", "reason"))
CONNECTIONS_REFUSED = Counter(
    "headrace_connections_refused", "Connections ended before a request was complete.", ("reason",)
)
ACCEPT_SECONDS = Histogram(
    "headrace_accept_seconds", "From the last byte of a request to its 202.", buckets=_SECONDS
)
LOG_SYNCS = Counter("headrace_log_syncs", "Commits of the event log, each one sync of the disk.")
LOG_BYTES = Counter("headrace_log_bytes", "Bytes written to the event log.")
BACKLOG_EVENTS = Gauge(
    "headrace_backlog_events", "Accepted events that wait to be routed.", multiprocess_mode="mostrecent"
)
BACKLOG_BYTES = Gauge(
    "headrace_backlog_bytes", "Bytes of the log that wait to be routed.", multiprocess_mode="mostrecent"
)
OUTBOX_BYTES = Gauge(
    "headrace_outbox_bytes",
    "Bytes of planned deliveries that the dispatcher has not read.",
    multiprocess_mode="mostrecent",
)
DISK_FREE_BYTES = Gauge(
    "headrace_disk_free_bytes",
    "Room on that disk of the data folder that has least.",
    multiprocess_mode="mostrecent",
)
ROUTED = Counter("headrace_events_routed", "Events matched against all subscriptions.")
MATCHED = Counter("headrace_deliveries_planned", "Pairs of event and subscription in the outbox.")
OVERRUNS = Counter("headrace_filter_overruns", "Times a filter cost more than it may on an event.")
SET_ASIDE = Counter(
    "headrace_set_aside",
    "Events, filters and damaged positions that routing goes on without; `headrace get set-aside` lists them.",
    ("kind",),
)
ROUTE_SECONDS = Histogram(
    "headrace_route_seconds",
    "Parts of a micro-batch: source (planning it), read (the log, per task), outbox (writing it).",
    ("stage",),
    buckets=_SECONDS,
)
BATCH_SECONDS = Histogram(
    "headrace_batch_seconds", "Matching and planning of one micro-batch.", buckets=_SECONDS
)
ARCHIVED = Counter("headrace_events_archived", "Events taken from the log to the archive.")
ARCHIVE_BYTES = Counter("headrace_archive_bytes", "Bytes written to the archive, joining of files included.")
ARCHIVE_JOINED = Counter("headrace_archive_files_joined", "Small files that became part of a large one.")
ARCHIVE_EXPIRED = Counter("headrace_archive_files_expired", "Files that retention removed from the archive.")
ARCHIVE_LOST = Counter(
    "headrace_archive_positions_lost", "Positions that the log had removed before they were archived."
)
ARCHIVE_FAILURES = Counter("headrace_archive_failures", "Runs of archiving that failed and are repeated.")
DELIVERED = Counter("headrace_deliveries_succeeded", "Deliveries that a sink or who pulls acknowledged.")
REPLAYED = Counter("headrace_deliveries_replayed", "Of these, deliveries of events of the past.")
RETRIED = Counter("headrace_deliveries_retried", "Attempts that failed and will be repeated.")
BURIED = Counter("headrace_deliveries_dead", "Deliveries given up and kept as dead letters.")
DEAD_LETTERED = Counter(
    "headrace_deliveries_dead_lettered", "Deliveries given up and handed on to a dead-letter sink."
)
REPLIES = Counter(
    "headrace_replies",
    "Events that sinks answered with: to be delivered, discarded for want of a reply address, or looped too often.",
    ("fate",),
)
STAGE_DELIVERED = Counter(
    "headrace_stage_deliveries_succeeded",
    "Replies and dead letters that were acknowledged.",
    ("stage",),
)
BREAKERS_OPENED = Counter(
    "headrace_breakers_opened", "Times an address was left alone after failing too often in a row."
)
SPILLED = Counter(
    "headrace_deliveries_spilled",
    "Deliveries that went to the ledger because their subscription's queue could not take them.",
)
DISCARDED = Counter(
    "headrace_deliveries_discarded", "Deliveries to subscriptions deleted, ended or moved on meanwhile."
)
MAILED = Counter("headrace_deliveries_mailed", "Deliveries that went to a mailbox, to be pulled.")
PULLED = Counter("headrace_deliveries_pulled", "Deliveries handed out to who pulls, repeated ones included.")
EXPIRED = Counter("headrace_deliveries_expired", "Deliveries that nobody pulled in time.")
DELIVERY_SECONDS = Durations(
    "headrace_delivery_seconds", "From publish to acknowledgement.", buckets=_SECONDS
)
JOBS_BEGUN = Counter(
    "headrace_jobs_begun", "Jobs taken up; again where one goes on after a pause.", ("kind",)
)
JOBS_FAILED = Counter("headrace_jobs_failed", "Jobs that could not be done.", ("kind",))

_MATCH_SECONDS = (0.0001, 0.00025, 0.0005, *_SECONDS)
MATCH_EVENTS = Counter("headrace_match_events", "Events that were matched; again where a batch is repeated.")
MATCH_MATCHES = Counter("headrace_match_matches", "Pairs of event and subscription that were found.")
MATCH_LOOKUPS = Counter("headrace_match_lookups", "Look-ups of values in the index.")
MATCH_LOOKUPS_PASSED = Counter(
    "headrace_match_lookups_passed", "Look-ups that the Bloom filter let pass; the others are its misses."
)
MATCH_LOOKUPS_FOUND = Counter("headrace_match_lookups_found", "Look-ups of a value that a filter asks for.")
MATCH_VISITED = Counter("headrace_match_visited", "Entries of the index that were looked at.")
MATCH_CANDIDATES = Counter(
    "headrace_match_candidates", "Entries that the index left to the evaluator of CEL."
)
MATCH_EVALUATIONS = Counter("headrace_match_evaluations", "Evaluations of CEL.")
MATCH_EVALUATION_ERRORS = Counter(
    "headrace_match_evaluation_errors",
    "Evaluations without an answer, a missing field for instance: no match.",
)
MATCH_EVALUATIONS_SLOW = Counter(
    "headrace_match_evaluations_slow", "Evaluations that took longer than matching.cel.evaluation_timeout."
)
MATCH_PROGRAM_HITS = Counter("headrace_match_program_hits", "Filters that didn't have to be compiled again.")
MATCH_PROGRAM_MISSES = Counter("headrace_match_program_misses", "Filters that were compiled.")
MATCH_SECONDS = Histogram("headrace_match_seconds", "Matching of one batch.", buckets=_MATCH_SECONDS)
MATCH_WALK_SECONDS = Histogram(
    "headrace_match_walk_seconds", "Of that, the walk through the index.", buckets=_MATCH_SECONDS
)
MATCH_RESIDUAL_SECONDS = Histogram(
    "headrace_match_residual_seconds",
    "Of that, the evaluation of CEL; batches without any aren't counted.",
    buckets=_MATCH_SECONDS,
)
MATCH_PER_EVENT = Histogram(
    "headrace_match_per_event",
    "Matches per event, the mean of one batch.",
    buckets=(0, 0.1, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 1000, 10_000),
)


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format."""
    if FOLDER_VARIABLE not in os.environ:
        return generate_latest(OWN_PROCESS)
    registry, folder = CollectorRegistry(), Path(os.environ[FOLDER_VARIABLE])
    if _is_there(folder):
        registry.register(ReadableMetrics(folder, _told))
    return generate_latest(registry)


def _is_there(folder: Path) -> bool:
    if not folder.is_dir() and str(folder) not in _told:
        _log.warning("%s was removed, and /metrics lacks what a process counts until it starts again", folder)
        _told.add(str(folder))
    return folder.is_dir()
