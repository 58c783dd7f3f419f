import json

from tests.eventlog.archive.archives import archived

from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.archive.value_ranges import file_extremes
from headrace.filters import compile_filter
from headrace.filters.backends.extremes import asked_of_extremes, may_hold
from headrace_bench import seek_events
from headrace_bench.seek_events import NEEDLE, archived_events, extension_at, id_at


def test_events_are_what_the_search_asks_for(tmp_path, monkeypatch):
    monkeypatch.setattr(seek_events, "_BLOCK", 50)
    monkeypatch.setattr(seek_events, "_COMMIT", 120)
    storage = Storage(str(tmp_path))
    assert list(archived_events(storage, 300, needle=260)) == [120, 240, 300]
    events = archived(storage)
    assert [each.position for each in events] == list(range(300))
    assert [each.event.id for each in events] == [id_at(position) for position in range(300)]
    assert [each.event.attributes["gtid"] for each in events] == [extension_at(n) for n in range(300)]
    notes = [json.loads(each.event.data or b"")["note"] for each in events]
    assert [position for position, note in enumerate(notes) if note == NEEDLE] == [260]
    assert len({each.event.id for each in events}) == 300


def test_the_ordered_extension_opens_one_file_and_the_random_id_most(tmp_path, monkeypatch):
    """What `bench seek` counts, without Spark: the files that the manifest doesn't rule out."""
    monkeypatch.setattr(seek_events, "_BLOCK", 50)
    monkeypatch.setattr(seek_events, "_COMMIT", 50)
    storage = Storage(str(tmp_path))
    assert len(list(archived_events(storage, 1000, needle=1))) == 20
    opened = {
        name: sum(
            may_hold(asked_of_extremes(compile_filter({"exact": {name: value}}).expression), each)
            for each in map(file_extremes, storage.manifest().files)
        )
        for name, value in (("gtid", extension_at(900)), ("id", id_at(900)))
    }
    assert opened["gtid"] == 1
    assert opened["id"] > 10
