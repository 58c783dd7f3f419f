"""Files that the manifest lets a search leave unopened: never one with a match, against the reference evaluator."""

import sys
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.eventlog.archive.archives import archive, archived, arrival, recorded_log
from tests.filters.cel_texts import cel_filters
from tests.filters.drawing import drawn
from tests.filters.strategies import events, expressions, filters, odd_events

from headrace.eventlog.archive import value_ranges as values
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.archive.value_ranges import file_extremes, rounded_up
from headrace.events.event import AttributeValue, Event
from headrace.events.recorded import Arrival
from headrace.filters import Filter, compile_filter
from headrace.filters.backends.extremes import asked_of_extremes, may_hold

ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
TIMES = [
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00.001Z",
    "1969-12-31T23:59:60Z",
    "a",
    "2026-01-01T01:00:00+02:00",
]
VALUES: list[AttributeValue] = [1.0, 1, "1", 1e20, -0.0, 42, "42", 42.0, True, "true", "truest", [1]]
TEXTS = [
    "ce.count == 'a'", "ce.count in ['a', '42']", "ce.count in ['a', 42]", "ce.count.startsWith('4')", "ce.count > '4'", "ce.count <= '4'",
    "has(ce.count)", "!has(ce.count)", "ce.count == 42", "ce.count != 'a'", "ce.count > 4", "string(ce.count) == '42'", "string(ce.count) == '1'",
    "string(ce.count).startsWith('tr')", "string(ce.count) in ['1', '1.0', '-1', 'true']", "string(ce.urgent) == '1e+20'", "ce.id == 1",
    "eventTime == 0", "eventTime > 0", "!(eventTime <= 0)", "eventTime < 0 || ce.count == 'a'", "publishTime == 1", "publishTime < 2",
    "publishTime >= 3", "publishTime != 1", "publishTime == 1.0", "tenant == 'n1'", "collection >= 'c1'", "tenant.startsWith('n')",
    "ce.subject > 'ab'", "ce.subject >= 'ab\U0010ffff'", "ce.subject.startsWith('abc')", "ce.id in ['ab', 'x']", "ce.dataschema.endsWith('a')",
    "ce.missing.matches('a')", "!ce.missing.matches('a')", "ce.id == 'a' && data.a == 1", "ce.id == 'a' || data.a == 1",
]  # fmt: skip
FILTERS = 120


@pytest.fixture
def short(monkeypatch):
    """Values are cut after two characters, and two extensions get a column."""
    monkeypatch.setattr(values, "LONGEST", 2)
    monkeypatch.setattr("headrace.eventlog.archive.columns._MOST_EXTENSIONS", 2)


def some_events():
    odd = ("ab", "abc", "ab\U0010ffff\U0010ffff", "\U0010ffff" * 3, "\ud7ff" * 3, "")
    marked: list[tuple[str, AttributeValue]] = [
        *(("time", time) for time in TIMES),
        *((name, value) for value in VALUES for name in ("count", "urgent")),
        *(("subject", text) for text in odd),
    ]
    made = [Event(ATTRIBUTES | {name: value}, b'{"a": 1}') for name, value in marked]
    return drawn(events(), 60) + drawn(odd_events, 60) + made


def test_no_match_is_left_out(short, tmp_path):
    every = some_events()
    commits: list[list[Arrival]] = []
    first = 0
    while first < len(every):
        size = 1 + len(commits) % 4
        place = f"n{len(commits) % 2}", f"c{len(commits) % 3}"
        commits.append([Arrival(event, *place) for event in every[first : first + size]])
        first += size
    log = recorded_log(commits, [1500 * (number % 4) for number in range(len(commits))])
    storage = Storage(str(tmp_path))
    for behind in range(0, len(every), 3):
        archive(storage, log, min(behind + 3, len(every)))
    files = [(file_extremes(file), archived(storage, file, tidy=False)) for file in storage.manifest().files]
    asked = [compile_filter({"cel": text}) for text in TEXTS]
    asked += (
        drawn(filters.map(compile_filter), FILTERS)
        + drawn(expressions.map(Filter), FILTERS)
        + drawn(cel_filters, FILTERS)
    )
    left_out = 0
    for filter_ in asked:
        condition = asked_of_extremes(filter_.expression)
        unopened = [held for extremes, held in files if not may_hold(condition, extremes)]
        for event in chain.from_iterable(unopened):
            assert not filter_.matches(event), (filter_.cel, event)
        left_out += len(unopened)
    assert left_out > len(asked) * len(files) * 0.2, "many files stay unopened"


ORDERED = [
    ("ce.gtid == '0-1-0450'", 1), ("ce.gtid in ['0-1-0450', '0-1-0451', '0-1-0001']", 2), ("ce.gtid > '0-1-0949'", 1), ("ce.gtid < '0-1-0100'", 1),
    ("ce.gtid.startsWith('0-1-04')", 1), ("ce.gtid == '0-1-0450' || ce.id == 'x5'", 2), ("ce.gtid == '0-1-0450' && data.a == 1", 1),
    ("ce.gtid == '0-1-0450' || data.a == 1", 10), ("has(ce.unheardof)", 0), ("!has(ce.unheardof)", 10), ("ce.subject == 'x'", 0), ("ce.type == 't'", 10),
    ("ce.type == 'u'", 0), ("tenant == 'n' && collection == 'c'", 10), ("tenant == 'o'", 0), ("publishTime < 1767225600000", 0),
    ("eventTime >= 0", 0), ("ce.gtid != '0-1-0450'", 10), ("string(ce.gtid) == '0-1-0450'", 1), ("ce.gtid.endsWith('0450')", 10),
]  # fmt: skip


@pytest.fixture(scope="module")
def ordered(tmp_path_factory):
    storage = Storage(str(tmp_path_factory.mktemp("archive")))
    log = recorded_log([[arrival(f"x{n}", gtid=f"0-1-{n:04d}") for n in range(1000)]])
    return archive(storage, log, 1000, commit_events=100).files


@pytest.mark.parametrize(("text", "opened"), ORDERED)
def test_few_files_stay(ordered, text, opened):
    condition = asked_of_extremes(compile_filter({"cel": text}).expression)
    assert sum(may_hold(condition, file_extremes(file)) for file in ordered) == opened


@given(
    st.text(),
    st.text(st.sampled_from("a\ud7ff\ue000\U0010fffe\U0010ffff"), min_size=62, max_size=67),
    st.text(),
)
def test_what_is_rounded_up_is_no_smaller(one, long, rest):
    for text in (one, long, one + long):
        bound = rounded_up(text)
        if bound is None:
            assert set(text[: values.LONGEST]) == {chr(sys.maxunicode)}
            continue
        assert text <= bound
        assert len(bound) <= values.LONGEST
        bound.encode()
        if bound != text:
            assert text[: values.LONGEST] + rest < bound
