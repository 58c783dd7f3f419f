import contextlib
import copy
import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from tests.examples import examples
from tests.filters.every_dialect import every_filter
from tests.filters.strategies import events, filters, json_values

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.filters import Limits, compile_filter

EVENT = Event(attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "t"})


def nested(depth):
    spec: dict[str, Any] = {"exact": {"type": "t"}}
    for _ in range(depth - 1):
        spec = {"not": spec}
    return spec


@pytest.mark.parametrize("spec", [None, [], ()])
def test_no_filter_lets_everything_through(spec):
    assert compile_filter(spec).matches(EVENT)
    assert compile_filter(spec).cel == "true"


@examples(500)
@given(json_values)
def test_whatever_is_no_filter_raises_a_filter_error_and_nothing_else(value):
    with contextlib.suppress(FilterError):
        assert compile_filter(value).matches(EVENT) in (True, False)


@examples(500, deadline=None, suppress_health_check=list(HealthCheck))
@given(every_filter)
def test_every_filter_of_every_dialect_has_a_cel_text_that_means_the_same(spec):
    compiled = compile_filter(spec)
    assert isinstance(compiled.cel, str)
    assert compile_filter({"cel": compiled.cel}).cel == compiled.cel


@given(filters)
def test_equal_filters_compile_to_equal_and_hashable_filters(spec):
    first, second = compile_filter(spec), compile_filter(copy.deepcopy(spec))
    assert first == second
    assert hash(first) == hash(second)
    assert first.cel == second.cel


def test_the_order_of_members_does_not_matter():
    first = compile_filter({"exact": {"type": "a", "subject": "b", "count": "1"}})
    second = compile_filter({"exact": {"count": "1", "subject": "b", "type": "a"}})
    assert first == second


def test_different_filters_are_unequal():
    specs = [
        {dialect: {name: text}}
        for dialect in ("exact", "prefix", "suffix")
        for name in ("type", "subject")
        for text in "ab"
    ]
    assert len({compile_filter(spec) for spec in specs}) == len(specs)
    assert len({compile_filter(spec).cel for spec in specs}) == len(specs)


@given(filters, events())
def test_a_filter_survives_pickling(spec, event):
    compiled = compile_filter(spec)
    restored = pickle.loads(pickle.dumps(compiled))
    assert restored == compiled
    assert hash(restored) == hash(compiled)
    assert restored.matches(event) is compiled.matches(event)


def test_pickles_are_small():
    compiled = [
        compile_filter({"exact": {"type": f"type-{i}", "subject": f"subject-{i}"}}) for i in range(1000)
    ]
    assert len(pickle.dumps(compiled)) < 115 * len(compiled)


def test_a_filter_is_frozen():
    with pytest.raises(AttributeError):
        compile_filter([]).expression = None  # type: ignore[misc, assignment]


def test_depth_is_limited():
    assert compile_filter(nested(24)).matches(EVENT) is False
    with pytest.raises(FilterError, match=r"limit `depth` of 24") as refusal:
        compile_filter([nested(25)])
    assert refusal.value.limit == "depth"
    assert refusal.value.path == "filters[0]" + ".not" * 24


def test_absurd_depth_is_refused_without_recursion():
    with pytest.raises(FilterError, match="`depth`"):
        compile_filter(nested(100_000))


def test_the_number_of_comparisons_is_limited():
    compile_filter({"any": [{"exact": {"subject": f"{i}"}} for i in range(1000)]})
    with pytest.raises(FilterError, match="1001 comparisons exceed the limit `atoms` of 1000") as refusal:
        compile_filter({"any": [{"exact": {"subject": f"{i}"}} for i in range(1001)]})
    assert refusal.value.limit == "atoms"


def test_the_list_counts_as_a_whole():
    with pytest.raises(FilterError, match="3 comparisons exceed the limit `atoms` of 2"):
        compile_filter(
            [{"exact": {"id": "1", "type": "t"}}, {"exact": {"source": "/"}}], limits=Limits(atoms=2)
        )


@pytest.mark.parametrize("spec", [{"exact": {"type": "x" * 10_001}}, {"exact": {"x" * 10_001: "t"}}])
def test_the_length_of_a_text_is_limited(spec):
    with pytest.raises(FilterError, match="10001 characters exceed the limit `length` of 10000") as refusal:
        compile_filter(spec)
    assert refusal.value.limit == "length"
    assert len(str(refusal.value)) < 500


def test_texts_up_to_the_limit_are_taken():
    assert compile_filter({"exact": {"type": "x" * 10_000}}).matches(EVENT) is False


def test_limits_can_be_set():
    tight = Limits(depth=1, atoms=1, length=1)
    assert compile_filter({"exact": {"id": "1"}}, limits=Limits(depth=1, atoms=1, length=2)).matches(EVENT)
    for spec, name in (
        ({"not": {"exact": {"id": "1"}}}, "depth"),
        ({"exact": {"id": "12"}}, "length"),
    ):
        with pytest.raises(FilterError) as refusal:
            compile_filter(spec, limits=tight)
        assert refusal.value.limit == name
