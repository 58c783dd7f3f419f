import pytest
from tests.eventlog.arrivals import memory_folder

from headrace.errors import ArchiveBusy, ArchiveRefused
from headrace.eventlog.archive.manifest import (
    FORMAT,
    ArchivedFile,
    Manifest,
    decode_manifest,
    encode_manifest,
)
from headrace.eventlog.archive.storage import Storage
from headrace.events.positions import LogPosition
from headrace.filters.backends.extremes import StringRange

FILE = ArchivedFile(
    path="events/a.parquet", namespace="n", channel='"\n\0é', date="2026-01-01", rows=3, bytes=10, memory=20, largest=7,
    spans={0: (5, 8), 3: (3 << 44, (3 << 44) + 2)}, published=(1, 2), happened=None, extensions=("gtid",), more_extensions=True,
    values={"id": StringRange("a", "b\0é\U0010ffff"), "gtid": StringRange("", None)},
)  # fmt: skip
MANIFEST = Manifest().followed(now=1.5, add=[FILE], archived=LogPosition.at(8), expired=LogPosition.at(2))


def test_what_is_written_is_read():
    assert decode_manifest("m", encode_manifest(MANIFEST)) == MANIFEST
    assert decode_manifest("m", encode_manifest(Manifest())) == Manifest()


def test_every_byte_counts():
    """A manifest that was cut off anywhere, or changed anywhere, is refused."""
    whole = encode_manifest(MANIFEST)
    for size in range(len(whole)):
        with pytest.raises(ArchiveRefused):
            decode_manifest("m", whole[:size])
        with pytest.raises(ArchiveRefused):
            decode_manifest("m", whole[:size] + bytes([whole[size] ^ 1]) + whole[size + 1 :])


def test_a_newer_format_is_named():
    newer = encode_manifest(MANIFEST).replace(b'"format":%d' % FORMAT, b'"format":99')
    with pytest.raises(ArchiveRefused, match=f"format 99, this program reads format {FORMAT}"):
        decode_manifest("m", newer)


def test_a_broken_manifest_is_not_passed_over(tmp_path):
    """The one before it is whole, but without the files that the log no longer has."""
    storage = Storage(str(tmp_path))
    storage.commit(MANIFEST)
    storage.commit(MANIFEST.followed(now=2.0))
    newest = max(tmp_path.glob("manifest-*"))
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.raises(ArchiveRefused, match=newest.name):
        storage.manifest()


def test_the_newest_counts_and_few_are_kept():
    with memory_folder() as folder:
        storage = Storage(str(folder))
        manifest = storage.manifest()
        assert manifest == Manifest()
        for _ in range(20):
            manifest = manifest.followed(now=1.0)
            storage.commit(manifest)
            assert storage.manifest() == manifest
        assert len(list(folder.iterdir())) == 3


def test_two_writers(tmp_path):
    """Who commits second finds that the archive isn't what it was, and changes nothing."""
    one, other = Storage(str(tmp_path)), Storage(str(tmp_path))
    one.commit(MANIFEST)
    with pytest.raises(ArchiveBusy):
        other.commit(Manifest().followed(now=1.0))
    assert other.manifest() == MANIFEST
