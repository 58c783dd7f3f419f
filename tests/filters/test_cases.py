"""The case file, on the reference evaluator and the canonical text."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.truth import UNKNOWN

DEFAULTS = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


@dataclass(frozen=True)
class Case:
    name: str
    filter: Any
    cel: str
    match: tuple[dict[str, Any], ...] = ()
    drop: tuple[dict[str, Any], ...] = ()
    unknown: tuple[dict[str, Any], ...] = ()
    above: tuple[dict[str, Any], ...] = ()

    def events(self) -> list[tuple[Event | Recorded, bool]]:
        return [
            (event_of(each), expected)
            for expected, events in (
                (True, self.match), (False, self.drop), (False, self.unknown), (False, self.above),
            )
            for each in events
        ]  # fmt: skip

    def events_within_budget(self) -> list[tuple[Event | Recorded, bool]]:
        return self.events()[: -len(self.above) or None]


def event_of(table: dict[str, Any]) -> Event | Recorded:
    """The event that a table describes: attributes, and what isn't one under names that start with `_`."""
    attributes = {name: value for name, value in table.items() if not name.startswith("_")}
    data = table.get("_data")
    event = Event(attributes=DEFAULTS | attributes, data=None if data is None else data.encode())
    if "_channel" not in table:
        return event
    namespace, channel = table["_channel"].split("/")
    return Recorded(0, table.get("_published", 0) * 1000, Arrival(event, namespace, channel))


CASES = [Case(**each) for each in tomllib.loads(Path(__file__).with_name("cases.toml").read_text())["case"]]

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_reference_evaluator(case):
    compiled = compile_filter(case.filter)
    assert case.events()
    for event, expected in case.events():
        assert compiled.matches(event) is expected, event


@every_case
def test_canonical_text(case):
    assert compile_filter(case.filter).cel == case.cel


@every_case
def test_explanation_has_the_value_of_the_filter(case):
    compiled = compile_filter(case.filter)
    for event, expected in case.events():
        explanation = compiled.explain(event)
        assert (explanation.value is True) is expected
        assert str(explanation).startswith(("true: ", "false: ", "unknown: "))


@every_case
def test_unknown_is_neither_true_nor_false(case):
    compiled = compile_filter(case.filter)
    for table in (*case.unknown, *case.above):
        assert compiled.explain(event_of(table)).value is UNKNOWN, table


def test_a_map_is_unknown_rather_than_false():
    event = Event(attributes={**DEFAULTS, "nested": {"a": 1}})
    assert compile_filter({"exact": {"nested": "x"}}).explain(event).value is UNKNOWN


def test_names_of_cases_are_unique():
    assert len({case.name for case in CASES}) == len(CASES)
