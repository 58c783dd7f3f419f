"""Upkeep of an archive: joining, expiring, sweeping up, and dying in the middle of each."""

import subprocess
import sys
import threading
import time

import pytest
from tests.eventlog.archive.archives import (
    DAY,
    archive,
    archived,
    arrival,
    keeper,
    prepared,
    recorded_log,
    settings,
)

from headrace.errors import ArchiveBusy
from headrace.eventlog.archive.compaction import FEW, files_to_join
from headrace.eventlog.archive.maintenance import ArchiveMaintenance
from headrace.eventlog.archive.retention import ArchiveLag, files_to_expire
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.files import WriterLock
from headrace.events.batch import to_batch
from headrace.events.positions import LogPosition, position_at


def test_killed_at_every_step(tmp_path):
    """Whatever step is the last, no event is lost or doubled, and the next run leaves nothing lying about."""
    command = [sys.executable, "-m", "tests.eventlog.archive.dying", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    deaths, states = map(int, done.stdout.split())
    assert deaths > 30
    assert states > 1, "some died before a commit and some after it"


def test_one_run_does_it_all(tmp_path):
    log = prepared(tmp_path)
    storage = Storage(str(tmp_path))
    before = storage.manifest()
    done = keeper(storage, log).run()
    assert (done.archived, done.joined, done.expired) == (8, 2, 1)
    assert (len(before.files), len(done.manifest.files)) == (3, 3)
    assert done.manifest.expired == {0: 2}
    assert archived(storage) == log.events(2, log.last)
    again = keeper(storage, log).run()
    assert (again.archived, again.joined, again.expired) == (0, 0, 0)
    assert again.manifest == done.manifest


def test_files_of_a_day_that_is_over_become_one(tmp_path):
    log = recorded_log([[arrival(n)] for n in range(5)], [DAY * 3 + n for n in range(5)])
    storage = Storage(str(tmp_path))
    manifest = archive(storage, log, 5, commit_events=1)
    (together,) = files_to_join(manifest, 1 << 30, now=10 * 86_400)
    assert [file.first for file in together] == [0, 1, 2, 3, 4]
    assert files_to_join(manifest, 1 << 30, now=3 * 86_400 + 5) == [], (
        "today's are joined when there are more"
    )
    assert files_to_join(manifest, manifest.files[0].bytes, now=10 * 86_400) == [], "none may get larger"


def test_todays_files_are_joined_by_size(tmp_path):
    """A large file isn't written again for each small one that comes after it."""
    now = time.time()
    log = recorded_log([[arrival(n)] for n in range(FEW)], [int(now * 1e6) + n for n in range(FEW)])
    storage = Storage(str(tmp_path))
    assert files_to_join(archive(storage, log, FEW - 1, commit_events=1), 1 << 30, now) == []
    (together,) = files_to_join(archive(storage, log, FEW), 1 << 30, now)
    assert len(together) == FEW


def test_partitions_keep_their_order_when_files_are_joined(tmp_path):
    log = recorded_log([])
    log.batches = [
        to_batch([arrival(partition)], position_at(partition, at), 5)
        for partition in (0, 3)
        for at in (1, 2, 3)
    ]
    storage = Storage(str(tmp_path))
    for at in (2, 3, 4):
        log.end = lambda at=at: LogPosition.at(position_at(0, at), position_at(3, at))
        archive(storage, log, log.end())
    done = keeper(storage, log, settings()).run()
    (file,) = done.manifest.files
    assert file.spans == {0: (1, 4), 3: (position_at(3, 1), position_at(3, 4))}
    assert [recorded.position for recorded in archived(storage)] == [
        position_at(partition, at) for partition in (0, 3) for at in (1, 2, 3)
    ]


def test_replaced_files_stay_for_who_reads_them(tmp_path):
    log = prepared(tmp_path)
    storage = Storage(str(tmp_path))
    before = storage.manifest()
    done = keeper(storage, log, settings(seconds=10 * 86_400.0, grace=3600.0)).run()
    assert done.manifest.leaving
    for file in before.files:
        assert archived(storage, only=file, tidy=False), (
            "a query that began before the run still finds its files"
        )
    assert not keeper(storage, log).run().manifest.leaving
    assert archived(storage) == log.events(2, log.last)


@pytest.mark.parametrize(("seconds", "kept"), [(35, [2, 3, 4]), (0, []), (100, [0, 1, 2, 3, 4])])
def test_age(tmp_path, seconds, kept):
    log = recorded_log([[arrival(n)] for n in range(5)], [n * 10_000_000 for n in range(5)])
    manifest = archive(Storage(str(tmp_path)), log, 5, commit_events=1)
    gone = files_to_expire(manifest, settings(seconds=seconds), now=50.0)
    assert [file.first for file in manifest.files if file not in gone] == kept


@pytest.mark.parametrize("kept", range(6))
def test_size(tmp_path, kept):
    """The oldest go until the rest fits, and not one more."""
    log = recorded_log([[arrival(n)] for n in range(5)], [n * 10_000_000 for n in range(5)])
    manifest = archive(Storage(str(tmp_path)), log, 5, commit_events=1)
    limit = sum(file.bytes for file in manifest.files[5 - kept :])
    gone = files_to_expire(manifest, settings(size=limit), now=50.0)
    assert [file.first for file in gone] == list(range(5 - kept))


def test_a_second_run_at_the_same_time_is_refused(tmp_path):
    log = prepared(tmp_path)
    lock = WriterLock(tmp_path)
    with pytest.raises(ArchiveBusy, match="another process"):
        keeper(Storage(str(tmp_path)), log).run()
    lock.release()
    assert keeper(Storage(str(tmp_path)), log).run().archived


def test_a_run_that_is_stopped_can_be_taken_up(tmp_path):
    log = prepared(tmp_path)
    storage, stop = Storage(str(tmp_path)), threading.Event()
    stop.set()
    kept = ArchiveMaintenance(storage, log, settings())
    assert kept.run(stop.is_set).archived == 0
    stop.clear()
    assert kept.run(stop.is_set).archived == 8
    assert archived(storage) == log.events(0, log.last)


def test_the_log_keeps_what_was_archived_just_now(tmp_path):
    log = recorded_log([[arrival(n)] for n in range(5)])
    storage = Storage(str(tmp_path))
    lag = ArchiveLag(storage, 10.0)
    archive(storage, log, 3)
    assert lag.position(100.0) == LogPosition()
    archive(storage, log, 5)
    assert lag.position(109.0) == LogPosition()
    assert lag.position(110.0) == LogPosition.at(3)
    assert lag.position(119.0) == LogPosition.at(5)
