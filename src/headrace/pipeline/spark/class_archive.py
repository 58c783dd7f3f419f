"""The JVM's classes in a form that is mapped instead of loaded: Spark starts in half the time.

The JVM writes the archive when it ends, once per Java and Spark version. A missing, outdated or unusable archive
costs only time: the JVM checks it and goes on without.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from headrace.telemetry.readiness import is_alive

if TYPE_CHECKING:
    from headrace.pipeline.spark.java import Java

_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"


def cache_folder() -> Path:
    """Return where this user's caches lie."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


class ClassArchive:
    """One start of a JVM: uses the archive if there is one, has it written otherwise."""

    def __init__(self, java: Java, folder: Path) -> None:
        runtime = f"{pyspark.__version__} {pyspark.__file__} {java.home} {java.version}"
        self._path = folder / f"spark-{hashlib.sha256(runtime.encode()).hexdigest()[:16]}.jsa"
        self._fresh = self._path.with_suffix(f".{os.getpid()}")

    def options(self) -> str:
        """Return the JVM's options."""
        self._remove_leftovers()
        if self._path.exists():
            return f"-XX:SharedArchiveFile={self._path} {_QUIET}"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return ""
        return f"-XX:ArchiveClassesAtExit={self._fresh} {_QUIET}"

    def _remove_leftovers(self) -> None:
        """Remove what JVMs wrote whose service was killed before it could keep it: each is 160 MB."""
        for path in self._path.parent.glob(f"{self._path.stem}.*"):
            process = path.suffix.removeprefix(".")
            if process.isdigit() and not is_alive(int(process)):
                with suppress(OSError):
                    path.unlink()

    def keep(self) -> None:
        """Make what the ended JVM wrote the archive of the next starts; a JVM that was killed wrote nothing."""
        with suppress(OSError):
            self._fresh.replace(self._path)
