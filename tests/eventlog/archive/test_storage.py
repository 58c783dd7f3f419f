"""File systems that aren't a local disk. Arrow's own mock stands in for an object store: none can be had here."""

from tests.eventlog.archive.archives import archived, keeper, prepared, settings

from headrace.eventlog.archive.storage import Storage


def test_the_same_steps_without_a_local_disk(tmp_path):
    log = prepared(tmp_path)
    storage = Storage("mock:///bucket/archive")
    assert storage.folder is None
    done = keeper(storage, log, settings()).run()
    assert (done.archived, done.manifest.archived) == (log.last, {0: log.last})
    assert archived(storage) == log.events(0, log.last)
    expired = keeper(storage, log).run()
    assert expired.expired == 1
    assert archived(storage) == log.events(2, log.last)


def test_what_was_left_lying_is_swept_up():
    storage = Storage("mock:///bucket/archive")
    with storage.create("events/left.parquet") as file:
        file.write(b"half")
    with storage.create("manifest-000000000001.json.tmp") as file:
        file.write(b"half")
    assert storage.sweep() == 2
    assert storage.list_events() == {}


def test_addresses_are_written_as_spark_writes_them(tmp_path):
    assert Storage(str(tmp_path)).uri("events/a") == f"{tmp_path}/events/a"
    assert Storage(f"file://{tmp_path}").folder == tmp_path
