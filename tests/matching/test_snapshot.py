"""An index in a file: the same answers after opening, and nothing that is broken or old is used."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.filters.backends.event_tables import table_of
from tests.filters.every_dialect import every_event, every_filter
from tests.filters.test_cases import CASES

from headrace.errors import SnapshotRefused
from headrace.events.batch import to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival
from headrace.filters import compile_filter
from headrace.matching import Matcher, Scope

EVENT = Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, b'{"a": [1, "x"]}')


@pytest.fixture
def saved(tmp_path):
    matcher = Matcher()
    matcher.add_many(
        [
            ("exact", compile_filter({"exact": {"type": "t"}})),
            ("gone", compile_filter({"exact": {"type": "t"}})),
            ("macro", compile_filter({"cel": "data.a.exists(each, each == 'x')"})),
            (
                "scoped",
                compile_filter({"prefix": {"id": "1"}}),
                Scope("n", "c", types=("t",), created=5, deleted=7),
            ),
            ("é", compile_filter([])),
        ]
    )
    matcher.remove("gone")
    path = tmp_path / "index"
    matcher.save(path)
    return path


def test_an_opened_index_matches_as_before(saved):
    matcher = Matcher.open(saved)
    assert len(matcher) == 4
    assert matcher.match(EVENT) == ["exact", "macro", "é"]
    rows = to_batch([Arrival(EVENT, "n", "c")] * 4, 4, 0)
    assert matcher.match_batch(rows) == [
        ["exact", "macro", "é"], ["exact", "macro", "scoped", "é"], ["exact", "macro", "scoped", "é"], ["exact", "macro", "é"],
    ]  # fmt: skip


def test_an_opened_index_can_be_changed_and_saved_again(saved, tmp_path):
    matcher = Matcher.open(saved)
    matcher.remove("exact")
    matcher.add("new", compile_filter({"suffix": {"type": "t"}}))
    matcher.add("é", compile_filter({"exact": {"type": "u"}}))
    assert matcher.match(EVENT) == ["macro", "new"]
    again = tmp_path / "again"
    matcher.save(again)
    assert Matcher.open(again).match(EVENT) == ["macro", "new"]
    assert Matcher.open(saved).match(EVENT) == ["exact", "macro", "é"]


def test_an_empty_index(tmp_path):
    Matcher().save(tmp_path / "index")
    matcher = Matcher.open(tmp_path / "index")
    assert matcher.match(EVENT) == []
    matcher.add("a", compile_filter([]))
    assert matcher.match(EVENT) == ["a"]


def test_another_process_can_map_it(saved):
    program = f"from pathlib import Path; from headrace.matching import Matcher; print(len(Matcher.open(Path({str(saved)!r}))))"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        == "4\n"
    )


def test_every_changed_byte_is_noticed(saved):
    whole = saved.read_bytes()
    for place in [*range(300), *range(300, len(whole), 997), len(whole) - 1]:
        changed = bytearray(whole)
        changed[place] ^= 1
        saved.write_bytes(changed)
        if _is_padding(whole, place):
            continue
        with pytest.raises(SnapshotRefused, match="can't be used"):
            Matcher.open(saved)


def _is_padding(whole, place):
    """Between the header and the first array lie zeros that mean nothing."""
    first = whole.index(b"\n") + 1
    header_end = first + int(whole[:first].split(b" ")[3])
    return header_end <= place < -(-header_end // 64) * 64


@pytest.mark.parametrize("length", [0, 1, 40, 500, -1])
def test_a_torn_file_is_refused(saved, length):
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(SnapshotRefused):
        Matcher.open(saved)


def test_another_version_is_refused_by_its_number(saved):
    saved.write_bytes(saved.read_bytes().replace(b"headrace index 3 ", b"headrace index 7 ", 1))
    with pytest.raises(SnapshotRefused, match="its version is 7, not 3"):
        Matcher.open(saved)


def test_no_file(tmp_path):
    with pytest.raises(SnapshotRefused, match="can't be mapped"):
        Matcher.open(tmp_path / "nothing")


def test_all_cases_through_a_file(tmp_path):
    filters = [compile_filter(case.filter) for case in CASES]
    matcher = Matcher()
    matcher.add_many((str(number), each) for number, each in enumerate(filters))
    matcher.save(tmp_path / "index")
    rows = table_of([event for case in CASES for event, _ in case.events()])
    assert Matcher.open(tmp_path / "index").match_batch(rows) == matcher.match_batch(rows)


@settings(max_examples=50, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(every_filter, max_size=6), st.lists(every_event(), min_size=1, max_size=4))
def test_generated_filters_through_a_file(tmp_path_factory, specs, events):
    path = tmp_path_factory.mktemp("snapshot") / "index"
    filters = [compile_filter(spec) for spec in specs]
    matcher = Matcher()
    matcher.add_many((str(number), each) for number, each in enumerate(filters))
    matcher.save(path)
    expected = [
        [str(number) for number, each in enumerate(filters) if each.matches(event)] for event in events
    ]
    assert Matcher.open(path).match_batch(events) == expected
