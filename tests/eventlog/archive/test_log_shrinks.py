"""A real log and its archive: the log shrinks behind it, and together they have every event once."""

from tests.eventlog.archive.archives import archived, keeper, settings
from tests.eventlog.arrivals import arrivals, read

from headrace.eventlog.archive.retention import ArchiveLag
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import list_segments
from headrace.eventlog.retention import expire_segments
from headrace.eventlog.settings import LogSettings
from headrace.events.positions import LogPosition

NOTHING = LogSettings(
    kind="local", segment_bytes=1, max_pending_bytes=1, retention_seconds=0, retention_bytes=0
)


def shrink(log, archive, settled):
    """What the role that clears away does."""
    archived_to = ArchiveLag(Storage(str(archive)), 0.0).position()
    return expire_segments(log, LogPosition.at(settled).meet(archived_to), NOTHING)


def test_nothing_leaves_the_log_before_it_is_archived(tmp_path, open_log):
    log, archive = tmp_path / "log", tmp_path / "archive"
    writer = open_log(log, segment_bytes=1)
    for name in "abcdef":
        writer.append(arrivals(name))
    everything = read(log)
    assert shrink(log, archive, settled=6) == 0
    assert len(list_segments(log)) == 6
    keeper(Storage(str(archive)), SegmentReader(log), settings()).run()
    assert shrink(log, archive, settled=3) > 0, "what is archived and not settled stays as well"
    assert SegmentReader(log).start() == LogPosition.at(3)
    for name in "gh":
        writer.append(arrivals(name))
    assert shrink(log, archive, settled=8) > 0
    assert SegmentReader(log).start() == LogPosition.at(6)
    assert archived(Storage(str(archive))) == everything
    whole = archived(Storage(str(archive))) + read(log, 6)
    assert [recorded.event.id for recorded in whole] == list("abcdefgh")
    assert [recorded.position for recorded in whole] == list(range(8))
