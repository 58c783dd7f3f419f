"""The history on real Spark: archive and log as one table, asked with filters, against the reference evaluator."""

import shutil
import uuid
from dataclasses import replace
from functools import reduce

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from tests.eventlog.arrivals import build
from tests.filters.drawing import drawn
from tests.filters.strategies import events, expressions, filters, odd_events
from tests.opening import opening

from headrace.config import load_config
from headrace.errors import ArchiveDamaged
from headrace.eventlog.archive.archiver import archive_log
from headrace.eventlog.archive.manifest import ArchivedFile
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.archive.verification import explain_spark_error
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.kafka.topics import ensure_topics
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import segment_path
from headrace.eventlog.local.writer import SegmentWriter
from headrace.eventlog.location import kafka_location
from headrace.events.batch import SCHEMA, from_batch
from headrace.events.event import Event
from headrace.events.positions import LogPosition, partition_of
from headrace.events.recorded import Arrival
from headrace.filters import Filter, compile_filter
from headrace.matching import Scope
from headrace.pipeline.history import backtest as backtests
from headrace.pipeline.history import matches as extract
from headrace.pipeline.history import seek
from headrace.pipeline.history.backtest import backtest
from headrace.pipeline.history.history import History, LogRange
from headrace.pipeline.history.log_table import LogTable
from headrace.pipeline.history.matches import matching_events
from headrace.pipeline.history.seek import first_match
from headrace.pipeline.history.selection import HistorySelection
from headrace.pipeline.spark.session import Session
from headrace.subscriptions.store.store import Store

CHANNELS = [("a", "b"), ("a", "../*[b]"), ("A", "b")]
TOGETHER = 6
DATES = [
    "2026-01-01T00:00:00.5Z",
    "2026-01-01T01:00:00+02:00",
    "1969-12-31T23:59:59Z",
    "yesterday",
    "2026-02-30T00:00:00Z",
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    config = load_config(overrides={"pipeline.master": "local[2]"})
    session = Session(config.pipeline, tmp_path_factory.mktemp("spark"))
    yield session.spark
    session.stop()


def some_events():
    """Generated ones, some with times, some with numbers in data, and a stretch in which each has its own extension."""
    attributes = {"specversion": "1.0", "source": "/s", "type": "t"}
    orders = [
        Event(
            attributes | {"id": f"{n}", "gtid": f"0-1-{n}", "time": DATES[n % 5]},
            b'{"amount": %d}' % (n % 40),
        )
        for n in range(200)
    ]
    odd = [Event(attributes | {"id": f"odd-{n}", f"own{n}": "x", "count": "a"}) for n in range(80)]
    return drawn(events(), 60) + drawn(odd_events, 60) + odd + orders


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A log and its archive, which was written in two steps; the last events are in the log alone."""
    folder = tmp_path_factory.mktemp("kept [*]")
    writer = SegmentWriter(folder / "log", 1 << 16)
    every = some_events()
    for first in range(0, len(every), 30):
        some = enumerate(every[first : first + 30], first)
        writer.append([Arrival(event, *CHANNELS[number % 3]) for number, event in some])
    writer.close()
    storage, reader = Storage(str(folder / "archive")), SegmentReader(folder / "log")
    for _ in archive_log(storage, reader, LogPosition.at(len(every) - 70), commit_events=170):
        pass
    recorded = [each for batch in reader.read(0, len(every)) for each in from_batch(batch)]
    return storage, LogTable(str(folder / "log")), recorded


@pytest.fixture(scope="module")
def history(spark, kept):
    storage, log, _ = kept
    return History(spark, storage, log)


@pytest.fixture(scope="module")
def recorded(kept):
    return kept[2]


def events_in(table):
    return [
        each for batch in table.select(SCHEMA.names).cast(SCHEMA).to_batches() for each in from_batch(batch)
    ]


def test_every_event_once(history, recorded):
    assert any(file.more_extensions for file in history.manifest.files)
    assert any("gtid" in file.extensions for file in history.manifest.files)
    assert events_in(history.events().orderBy("position").toArrow()) == recorded


def answers(history, asked, extent=None):
    """The positions that each filter matches, by one job for several filters."""
    found: list[list[int]] = [[] for _ in asked]
    for first in range(0, len(asked), TOGETHER):
        frames = [
            history.matching(each, extent).select(F.lit(first + n).alias("filter"), "position")
            for n, each in enumerate(asked[first : first + TOGETHER])
        ]
        for number, position in reduce(DataFrame.unionAll, frames).collect():
            found[number].append(position)
    return [sorted(each) for each in found]


WRITTEN = [
    "ce.gtid in ['0-1-5', '0-1-150']", "ce.gtid == '0-1-77' || ce.own7 == 'x'", "!(eventTime > 0)",
    "eventTime < 0 && data.amount > 5", "data.amount > 38 && ce.gtid < '0-1-12'",
]  # fmt: skip


def test_filters_mean_here_what_they_mean_anywhere(history, recorded):
    asked = [compile_filter({"cel": text}) for text in WRITTEN]
    asked += [compile_filter({"exact": {"count": "42"}})]
    asked += drawn(filters.map(compile_filter), 3) + drawn(expressions.map(Filter), 3)
    assert answers(history, asked) == [
        [each.position for each in recorded if filter_.matches(each)] for filter_ in asked
    ]


EXTENTS = [
    HistorySelection(Scope("a", "b")),
    HistorySelection(Scope("a", "../*[b]", source="/s", types=("t", "u"))),
    HistorySelection(positions=(55, 320)),
    HistorySelection(Scope("A", "b"), positions=(130, 10**6)),
    HistorySelection(happened=(-5000, 1)),
    HistorySelection(Scope("nobody", "b")),
]


@pytest.mark.parametrize("extent", EXTENTS, ids=str)
def test_extents(history, recorded, extent):
    positions = [each.position for each in recorded if includes(extent, each)]
    assert answers(history, [compile_filter([])], extent) == [positions]


def includes(extent, each):
    first, behind = extent.positions or (0, 1 << 63)
    happened = compile_filter({"cel": "eventTime >= -5000 && eventTime < 1"}).matches(each)
    return (
        (extent.scope is None or extent.scope.admits(each))
        and first <= each.position < behind
        and (extent.happened is None or happened)
    )


def test_publish_times(history, recorded):
    times = sorted({each.publish_time for each in recorded})
    low, high = times[len(times) // 3], times[-2]
    found = answers(history, [compile_filter([])], HistorySelection(published=(low, high)))
    assert found == [[each.position for each in recorded if low <= each.publish_time < high]]


def test_parts_outside_are_not_opened(history):
    """Files of other channels, positions and times are left out by the manifest alone."""
    every = len(history.parts(HistorySelection()))
    assert 0 < len(history.parts(HistorySelection(Scope("a", "b")))) < every
    assert len(history.parts(HistorySelection(positions=(0, 10)))) == 3
    assert history.parts(HistorySelection(Scope("b", "a"), positions=(0, 10))) == []
    assert history.parts(HistorySelection(published=(0, 1), positions=(0, 10))) == []


UNOPENED = [
    ("ce.id == 'odd-35' && tenant == 'A'", {"A"}),
    ("ce.type > 't' && publishTime < 0", set()),
    ("true", {"a", "A"}),
]


@pytest.mark.parametrize(("text", "namespaces"), UNOPENED)
def test_files_without_a_match_are_not_opened(history, text, namespaces):
    """By the least and greatest values that the manifest has; the log has none."""
    parts = history.parts(HistorySelection(), compile_filter({"cel": text}))
    assert {part.namespace for part in parts if isinstance(part, ArchivedFile)} == namespaces
    assert isinstance(parts[-1], LogRange)


def test_files_of_other_sources_are_not_opened(history):
    nowhere = history.parts(HistorySelection(Scope("a", "b", source="\U0010ffff")))
    assert not any(isinstance(part, ArchivedFile) for part in nowhere)


def test_comparisons_reach_parquet(history, capsys):
    history.spark.conf.set("spark.sql.maxMetadataStringLength", "10000")  # or the list is cut off
    extent = HistorySelection(Scope("a", "b"), positions=(170, 330))
    history.matching(
        compile_filter({"cel": "ce.gtid == '0-1-5' && ce.id == '5' && eventTime > 0"}), extent
    ).explain()
    pushed = [line for line in capsys.readouterr().out.splitlines() if "PushedFilters" in line]
    assert pushed
    wanted = ["EqualTo(ce_gtid,0-1-5)", "EqualTo(id,5)", "EqualTo(namespace,a)", "EqualTo(channel,b)",
              "GreaterThanOrEqual(position,170)", "LessThanOrEqual(position,329)", "GreaterThan(event_time,"]  # fmt: skip
    for line in pushed:
        assert [each for each in wanted if each not in line] == []


@pytest.fixture
def narrow(monkeypatch):
    """Windows of few events, so that there are several."""
    monkeypatch.setattr(seek, "_FIRST_ROWS", 40)
    monkeypatch.setattr(extract, "_MOST_ROWS", 90)
    monkeypatch.setattr(backtests, "_WINDOW_ROWS", 150)


FIRST = ["ce.gtid == '0-1-150'", "data.amount == 39", "ce.id == 'odd-35'", "ce.id == 'nobody'"]


@pytest.mark.parametrize("text", FIRST)
def test_first_match(narrow, history, recorded, text):
    filter_ = compile_filter({"cel": text})
    shares: list[float] = []
    expected = [each.position for each in recorded if filter_.matches(each)][:1]
    assert list(first_match(history, HistorySelection(), filter_, shares.append)) == expected
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_search_stops_at_the_first_match(narrow, history, monkeypatch):
    asked, matching = [], History.matching

    def watched(self, filter_, extent):
        asked.append(extent)
        return matching(self, filter_, extent)

    monkeypatch.setattr(History, "matching", watched)
    assert first_match(history, HistorySelection(positions=(5, 1 << 63)), compile_filter([])) == (5,)
    assert [extent.positions[0] for extent in asked] == [5]
    assert asked[0].positions[1] < 100


def test_matching_events(narrow, history, recorded):
    filter_ = compile_filter({"cel": "has(ce.gtid) || ce.count == 'a'"})
    extent = HistorySelection(Scope("a", "b"), positions=(20, 350))
    chunks = list(matching_events(history, extent, filter_))
    found = [each for _, batch in chunks for each in from_batch(batch)]
    assert found == [each for each in recorded if includes(extent, each) and filter_.matches(each)]
    assert all(batch.num_rows <= 90 for _, batch in chunks)
    # Whoever begins anew at a chunk's end gets the rest.
    position, _ = chunks[1]
    rest = matching_events(history, replace(extent, positions=(position, 350)), filter_)
    assert [each.position for _, batch in rest for each in from_batch(batch)] == [
        each.position for each in found if each.position >= position
    ]


def test_an_answer_is_bounded_in_bytes(history, recorded, monkeypatch):
    """Not even twenty events fit: they come in many answers, and one that is too large comes alone."""
    monkeypatch.setattr(extract, "CHUNK_BYTES", 4000)
    extent = HistorySelection(positions=(150, 200))
    sizes = [batch.num_rows for _, batch in matching_events(history, extent, compile_filter([]))]
    assert sum(sizes) == 50
    assert max(sizes) < 25


def test_backtest(narrow, history, recorded):
    filter_ = compile_filter({"cel": "data.amount > 30"})
    result = backtest(history, HistorySelection(Scope("a", "b")), filter_, bucket_seconds=0.001, examples=3)
    seen = [each for each in recorded if Scope("a", "b").admits(each)]
    matched = [each for each in seen if filter_.matches(each)]
    assert (result.events, result.matched) == (len(seen), len(matched))
    assert events_in(result.examples) == matched[-3:]
    for bucket in result.buckets:
        assert bucket.events == sum(each.publish_time // 1000 * 1000 == bucket.start for each in seen)
        assert bucket.matched == sum(each.publish_time // 1000 * 1000 == bucket.start for each in matched)
    assert sum(bucket.events for bucket in result.buckets) == len(seen)


def test_nothing_archived_and_nothing_logged(spark, tmp_path):
    SegmentWriter(tmp_path / "log", 1).close()
    empty = History(spark, Storage(str(tmp_path / "archive")), LogTable(str(tmp_path / "log")))
    assert empty.events().count() == 0
    assert first_match(empty, HistorySelection(), compile_filter([])) == ()
    assert backtest(empty, HistorySelection(), compile_filter([]), bucket_seconds=1).buckets == ()


def _flip_data(path):
    content = bytearray(path.read_bytes())
    for at in range(8, 400):
        content[at] ^= 0x55
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [lambda path: path.unlink(), lambda path: path.write_bytes(b""), _flip_data],
    ids=["removed", "emptied", "flipped"],
)
def test_a_damaged_file_is_named_and_never_left_out(spark, kept, tmp_path, spoil):
    storage, log, _ = kept
    shutil.copytree(storage.folder, tmp_path / "archive")
    copy = Storage(str(tmp_path / "archive"))
    file = copy.manifest().files[0]
    spoil(tmp_path / "archive" / file.path)
    with pytest.raises(Exception) as caught:  # of Spark, or of ours
        History(spark, copy, log).events().toArrow()
    error = explain_spark_error(copy, caught.value)
    assert isinstance(error, ArchiveDamaged)
    assert f"{file.rows} events of channel {file.namespace}/{file.channel}" in str(error)


def test_damage_of_the_log_is_gone_around_and_set_aside(spark, tmp_path):
    folder = build(tmp_path / "log", ["abc", "de", "fghi"], segment_bytes=1)
    path = segment_path(folder, 3)
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    url = f"sqlite:///{tmp_path}/store.db"
    table = LogTable(str(folder), url)
    assert table.largest((0, 9)) > 1
    found = History(spark, None, table).events().select("position").toArrow()
    assert sorted(found["position"].to_pylist()) == [0, 1, 2, 5, 6, 7, 8]
    with opening(Store, url) as store:
        (aside,) = store.what_is_set_aside(10)
    assert (aside.kind, aside.position, aside.until) == ("damage", 3, 5)


def test_without_an_archive(spark, kept):
    _, log, recorded = kept
    assert History(spark, None, log).events().count() == len(recorded)


@pytest.fixture
def kafka(broker):
    name = uuid.uuid4().hex[:8]
    settings = KafkaSettings(broker.bootstrap, (f"history-{name}",), f"outbox-{name}", 2, 1, 10.0, ())
    ensure_topics(settings)
    return settings


async def test_archive_and_log_in_kafka(spark, kafka, tmp_path):
    """Two partitions, of which a part is archived: every event once, by whatever it is found."""
    writer, reader = KafkaLogWriter(kafka, "history", 1 << 20), KafkaLogReader(kafka)
    attributes = {"specversion": "1.0", "source": "/s", "type": "t"}
    storage = Storage(str(tmp_path))
    for number in range(24):
        event = Event(
            attributes | {"id": f"{number}", "partitionkey": f"{number % 8}", "part": f"{number // 12}"}
        )
        await writer.append([Arrival(event, "a", "b")], 100)
        if number == 11:
            list(archive_log(storage, reader, reader.end()))
    await writer.close()
    history = History(spark, storage, LogTable(kafka_location(kafka)))
    spans = LogPosition().ranges_to(reader.end())
    every = [each for span in spans for batch in reader.read(*span) for each in from_batch(batch)]
    reader.close()
    assert len({partition_of(each.position) for each in every}) == 2
    chunks = matching_events(history, HistorySelection(Scope("a", "b")), compile_filter([]))
    assert [each for _, batch in chunks for each in from_batch(batch)] == every
    later = compile_filter({"exact": {"part": "1"}})
    firsts = {partition_of(each.position): each.position for each in reversed(every) if later.matches(each)}
    assert sorted(first_match(history, HistorySelection(), later)) == sorted(firsts.values())
    assert not any(isinstance(part, ArchivedFile) for part in history.parts(HistorySelection(), later))
