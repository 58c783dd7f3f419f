"""What the page says is so."""

import re
import tomllib
from pathlib import Path

from headrace.config import DEFAULTS
from headrace.telemetry.metrics import exposition

PAGE = (Path(__file__).parents[2] / "docs" / "matching.md").read_text()


def test_the_python_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    exec("\n".join(blocks), {})


def test_the_table_of_settings():
    shown = dict(re.findall(r"^\| `matching\.([\w.]+)` \| ([\d.]+) \|", PAGE, re.MULTILINE))
    matching = tomllib.loads(DEFAULTS.read_text())["matching"]
    tables = {name: each for name, each in matching.items() if isinstance(each, dict)}
    inside = {f"{name}.{key}": value for name, table in tables.items() for key, value in table.items()}
    settings = {name: each for name, each in matching.items() if name not in tables} | inside
    assert shown == {key: str(value) for key, value in settings.items()}


def test_the_table_of_metrics():
    shown = set(re.findall(r"^\| `(headrace_match_\w+)` \|", PAGE, re.MULTILINE))
    served = re.findall(
        r"^# TYPE (headrace_match_\w+) (?:counter|histogram)", exposition().decode(), re.MULTILINE
    )
    assert shown == set(served)
