"""The specification's own test suite, where its files are at hand."""

import os
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from tests.filters import google

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.filters.backends.reference import value_of
from headrace.filters.cesql import parse, term_of
from headrace.filters.values.cesql.errors import CesqlError
from headrace.filters.variables import variables_of

ROOT = Path(__file__).resolve().parents[3]
BASE = {"specversion": "1.0", "id": "tck-1", "source": "https://example.com/tck", "type": "tck"}

# docs/adr/0010-cesql-not-10.md: the suite contradicts the specification, and itself.
CONTRADICTORY = {("not_operator", "Invalid int cast")}


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Leaves timestamps the strings they are in an event."""


PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def conformance_folder():
    named = os.environ.get("HEADRACE_CONFORMANCE")
    places = [Path(named)] if named else [place / "shared/conformance" for place in (ROOT, *ROOT.parents)]
    return next((place / "cesql_tck" for place in places if (place / "cesql_tck").is_dir()), None)


def read_cases():
    folder = conformance_folder()
    if folder is None:
        reason = "the CESQL conformance suite isn't here: name its folder in HEADRACE_CONFORMANCE"
        return [pytest.param("", {}, marks=pytest.mark.skip(reason=reason))]
    suites = [
        (path.stem, yaml.load(path.read_text("utf-8"), PlainLoader)) for path in sorted(folder.glob("*.yaml"))
    ]
    return [
        pytest.param(name, case, id=f"{name}: {case['name']} [{index}]")
        for name, suite in suites
        for index, case in enumerate(suite["tests"])
    ]


@pytest.mark.parametrize(("suite", "case"), read_cases())
def test_case(suite, case):
    text = str(case["expression"])
    if case.get("error") in ("parse", "missingFunction"):
        # A filter that calls an unknown function is refused as well: it would never pass an event.
        with pytest.raises(FilterError):
            parse(text)
        return
    event = Event(case.get("event") or BASE | case.get("eventOverrides", {}))
    value = value_of(term_of(parse(text)), variables_of(event))
    given = (value.value, [value.kind]) if isinstance(value, CesqlError) else (value, [])
    compiled = compile_filter({"sql": text})
    assert compiled.matches(event) is google.evaluate(compiled.cel, variables_of(event)) is (value is True)
    wanted = (case["result"], [case["error"]] if "error" in case else [])
    if (suite, case["name"]) in CONTRADICTORY:
        assert wanted == (True, ["cast"]), "the suite has changed: read the ADR again"
        wanted = (False, [])
    assert given == wanted
    assert type(given[0]) is type(wanted[0])
