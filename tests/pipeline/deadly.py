"""An event that kills the worker that matches it: none is known, so one is made up."""

import os
import sys
from pathlib import Path

import pytest

KILLER = """
import os, signal, sys
if "pyspark.daemon" in sys.orig_argv:
    from headrace.matching.matcher import Matcher
    match_pairs = Matcher.match_pairs
    def die_of_a_deadly_event(self, batch):
        if "deadly" in batch["type"].to_pylist():
            os.kill(os.getpid(), signal.SIGKILL)
        return match_pairs(self, batch)
    Matcher.match_pairs = die_of_a_deadly_event
"""


def make_an_event_deadly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers run this at their start: events of the type `deadly` kill them."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(KILLER)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.pathsep.join(filter(None, sys.path))}")
