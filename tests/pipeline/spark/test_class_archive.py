"""The archive of the JVM's classes, without a JVM; the route's tests use it with one."""

import subprocess
import sys
from pathlib import Path

from headrace.pipeline.spark.class_archive import ClassArchive, cache_folder
from headrace.pipeline.spark.java import Java

_JAVA = Java(Path("/java"), 17, "PATH")


def _written_to(options: str) -> Path:
    [path] = [word.partition("=")[2] for word in options.split() if "ArchiveClassesAtExit" in word]
    return Path(path)


def test_the_first_jvm_writes_it_and_the_second_uses_it(tmp_path):
    archive = ClassArchive(_JAVA, tmp_path / "cache")
    _written_to(archive.options()).write_bytes(b"classes")
    archive.keep()
    [kept] = (tmp_path / "cache").iterdir()
    assert kept.suffix == ".jsa"
    assert f"-XX:SharedArchiveFile={kept}" in ClassArchive(_JAVA, tmp_path / "cache").options()


def test_a_jvm_that_was_killed_leaves_nothing(tmp_path):
    archive = ClassArchive(_JAVA, tmp_path)
    archive.options()
    archive.keep()
    assert list(tmp_path.iterdir()) == []


def test_another_java_has_its_own(tmp_path):
    archive = ClassArchive(_JAVA, tmp_path)
    _written_to(archive.options()).write_bytes(b"classes")
    archive.keep()
    assert "ArchiveClassesAtExit" in ClassArchive(Java(Path("/java"), 21, "PATH"), tmp_path).options()


def test_without_a_place_for_it_the_jvm_starts_without(tmp_path):
    (tmp_path / "file").write_text("")
    assert ClassArchive(_JAVA, tmp_path / "file" / "cache").options() == ""


def test_the_cache_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "headrace"


def test_what_killed_services_left_is_removed_and_what_living_ones_write_is_not(tmp_path):
    written = _written_to(ClassArchive(_JAVA, tmp_path).options())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = written.with_suffix(f".{ended.pid}")
    for each in (written, left):
        each.write_bytes(b"classes")
    ClassArchive(_JAVA, tmp_path).options()
    assert (written.exists(), left.exists()) == (True, False)
