"""A log that others are ahead of is refused, or goes on behind them: no position is given away twice."""

import shutil
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.eventlog.arrivals import HUGE, arrival, arrivals, build, ids, memory_folder, snapshot

from headrace.errors import LogReplaced, LogUnavailable
from headrace.eventlog.damage import Damage
from headrace.eventlog.local.continuity import Continuity, LogReference
from headrace.eventlog.local.identity import IDENTITY_FILE, LogIdentity, read_identity
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.batch import from_batch
from headrace.telemetry.health import HEALTH


def identity(folder):
    found = read_identity(folder)
    assert found is not None
    return found


def start(folder, *referencees, accept=False, told=None):
    """Open the log as a service does; `told` gets what is set aside."""
    told = [] if told is None else told
    return closing(
        SegmentWriter(folder, HUGE, accept_damage=accept, continuity=Continuity(referencees, told.append))
    )


@pytest.fixture
def folder(tmp_path):
    """A log of six events that was started once."""
    return build(tmp_path / "log", ["ab", "cdef"])


def test_a_log_keeps_its_name_and_counts_its_starts(folder):
    first = identity(folder)
    with start(folder) as writer:
        assert writer.identity == LogIdentity(first.name, first.starts + 1) == identity(folder)


def test_two_logs_have_different_names(tmp_path, folder):
    other = build(tmp_path / "other", ["ab"])
    assert identity(folder).name != identity(other).name


def test_referencees_that_know_less_or_as_much_are_fine(folder):
    own = identity(folder)
    with start(
        folder, LogReference("the outbox", 6, own), LogReference("the ledger", 2, own), LogReference("new", 0)
    ) as writer:
        assert writer.end == 6


REFUSED = {
    "ahead": (lambda own: LogReference("the outbox", 9, own), "positions up to 9, and the log ends at 6"),
    "ahead, and of a time without names": (lambda _: LogReference("the outbox", 9), "positions up to 9"),
    "of another log": (lambda _: LogReference("the ledger", 3, LogIdentity("other", 1)), "of the log other"),
    "of another log, and knows nothing": (
        lambda _: LogReference("the ledger", 0, LogIdentity("other", 1)),
        "other",
    ),
    "of a later start": (
        lambda own: LogReference("the ledger", 3, own._replace(starts=4)),
        "knows of start 4",
    ),
}


@pytest.mark.parametrize(("reference", "message"), REFUSED.values(), ids=REFUSED)
def test_a_log_that_does_not_fit_is_refused_and_left_alone(folder, reference, message):
    before = snapshot(folder)
    with pytest.raises(LogReplaced, match=message) as caught:
        start(folder, reference(identity(folder)))
    assert "HEADRACE_LOG_ACCEPT_DAMAGE=true" in str(caught.value)
    assert snapshot(folder) == before


@pytest.mark.parametrize(("reference", "message"), REFUSED.values(), ids=REFUSED)
def test_where_it_is_accepted_the_log_goes_on_behind_everything_and_the_next_start_is_quiet(
    folder, reference, message
):
    reference = reference(identity(folder))
    told: list[Damage] = []
    with start(folder, reference, accept=True, told=told) as writer:
        first = writer.append([arrival("next")])
        assert first == max(6, reference.end)
    assert [(each.start, each.end) for each in told] == ([(6, 9)] if reference.end == 9 else [])
    assert all(message in each.reason() for each in told)
    for of in (writer.identity, reference.log):  # the reference was told of it, or a crash came before
        with start(folder, LogReference("again", first + 1, of)) as again:
            assert again.end == first + 1
            assert again.identity.name == writer.identity.name


def test_an_older_copy_is_accepted_with_its_events(tmp_path, folder):
    shutil.copytree(folder, tmp_path / "copy")
    with start(folder) as writer:
        writer.append(arrivals("ghi"))
        known = LogReference("the outbox", 9, writer.identity)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    with pytest.raises(LogReplaced, match="positions up to 9, and the log ends at 6"):
        start(folder, known)
    with start(folder, known, accept=True) as writer:
        assert writer.append([arrival("next")]) == 9
    lost: list[Damage] = []
    found = [each for batch in SegmentReader(folder).read(0, 10, lost.append) for each in from_batch(batch)]
    assert {each.position: each.event.id for each in found} == dict(enumerate("abcdef")) | {9: "next"}
    assert [(each.start, each.end) for each in lost] == [(6, 9)]


def test_an_older_copy_is_known_even_if_nothing_was_routed_since(tmp_path, folder):
    """It was started, took events, and nobody had routed them when the older copy came back."""
    shutil.copytree(folder, tmp_path / "copy")
    with start(folder) as writer:
        writer.append(arrivals("ghi"))
        known = LogReference("the outbox", 6, writer.identity)
    with pytest.raises(LogReplaced, match="copy of it from start 1"):
        start(tmp_path / "copy", known)


def test_the_newer_log_is_not_taken_back_after_the_older_one_went_on(tmp_path, folder):
    shutil.copytree(folder, tmp_path / "newer")
    with start(folder, LogReference("the outbox", 9), accept=True) as writer:
        known = LogReference("the outbox", 9, writer.identity)
    with pytest.raises(LogReplaced):
        start(tmp_path / "newer", known)


def test_events_of_another_log_leave_so_that_nobody_takes_them_for_his_own(tmp_path, folder):
    """A retry or a planned delivery of position 3 would send an event that its filter never saw."""
    other = build(tmp_path / "other", ["uvw", "xyz"])
    known = LogReference("the outbox", 5, identity(folder))
    with pytest.raises(LogReplaced):
        start(other, known)
    with start(other, known, accept=True) as writer:
        assert writer.append([arrival("next")]) == 6
    assert SegmentReader(other).start()[0] == 6
    assert ids_from(other, 6) == ["next"]
    (kept,) = other.glob("foreign-*")
    assert len(list(kept.glob("*.seg"))) == 1
    with start(other, known) as again:
        assert again.end == 7


def ids_from(folder, position):
    reader = SegmentReader(folder)
    batches = reader.read(position, reader.end()[0])
    return [each.event.id for batch in batches for each in from_batch(batch)]


def test_a_log_that_vanished_is_not_begun_anew(tmp_path, folder):
    known = LogReference("the outbox", 6, identity(folder))
    shutil.rmtree(folder)
    for _ in range(2):
        with pytest.raises(LogReplaced, match="positions up to 6, and the log ends at 0"):
            start(folder, known)
    with start(folder, known, accept=True) as writer:
        assert writer.append([arrival("next")]) == 6


@pytest.mark.parametrize("content", [None, b"", b"00000000\n{}", b"nonsense"])
def test_a_log_that_does_not_say_which_it_is(folder, content):
    path, own = folder / IDENTITY_FILE, identity(folder)
    path.unlink() if content is None else path.write_bytes(content)
    with start(folder, LogReference("of a time without names", 6)) as writer:
        assert writer.identity.name != own.name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(LogReplaced, match="nothing says that this is that log"):
        start(folder, LogReference("the outbox", 6, own))
    with start(folder, LogReference("the outbox", 6, own), accept=True) as writer:
        assert writer.append([arrival("next")]) == 6
    assert ids(folder) == [*"abcdef", "next"]


@settings(max_examples=50)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(0, 5),
    st.lists(st.integers(0, 25), max_size=3),
)
def test_no_position_is_given_away_that_somebody_knows(commits, copied, ends):
    """Any older copy against any referencees: refused, or nobody knows a position that the next event gets."""
    with memory_folder() as memory:
        folder = memory / "log"
        for number, size in enumerate(commits):
            with start(folder) as writer:
                writer.append(arrivals(range(size)))
            if number == copied:
                shutil.copytree(folder, memory / "copy")
        used = memory / "copy" if (memory / "copy").exists() else folder
        referencees = [LogReference("it", end, writer.identity) for end in ends]
        try:
            opened = start(used, *referencees)
        except LogReplaced:
            opened = start(used, *referencees, accept=True)
        with opened as again:
            assert all(again.append([arrival("next")]) >= end for end in ends)


# While it runs


def _refuses(writer):
    for _ in range(2):
        with pytest.raises(LogUnavailable, match="start the service again"):
            writer.append([arrival("lost")])
    # Not where a disk that has room again is told: that mends nothing here.
    assert "log" not in HEALTH.reports()
    assert "start the service again" in HEALTH.reports()["log files"].note
    HEALTH.forget("log files")


def test_a_log_that_is_removed_while_it_is_written_takes_no_event(folder):
    with start(folder) as writer:
        writer.append([arrival("g")])
        shutil.rmtree(folder)
        _refuses(writer)
        assert not folder.exists()


def test_a_log_that_is_replaced_while_it_is_written_takes_no_event(tmp_path, folder):
    with start(folder) as writer:
        shutil.copytree(folder, tmp_path / "copy")
        writer.append([arrival("g")])
        folder.rename(tmp_path / "away")
        (tmp_path / "copy").rename(folder)
        before = snapshot(folder)
        _refuses(writer)
        assert snapshot(folder) == before


def test_a_segment_that_is_overwritten_in_place_takes_no_event(folder):
    (segment,) = folder.glob("*.seg")
    older = segment.read_bytes()
    with start(folder) as writer:
        writer.append([arrival("g")])
        segment.write_bytes(older)
        _refuses(writer)
        assert segment.read_bytes() == older


def test_a_log_that_is_removed_during_a_commit_acknowledges_nothing(folder, monkeypatch):
    sync = "headrace.eventlog.local.writer.os.fdatasync"
    with start(folder) as writer:
        monkeypatch.setattr(sync, lambda _: shutil.rmtree(folder))
        with pytest.raises(LogUnavailable, match="removed or replaced"):
            writer.append([arrival("g")])
        assert writer.end == 6
        HEALTH.forget("log")
