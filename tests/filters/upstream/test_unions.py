import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.every_dialect import every_event, every_filter
from tests.filters.strategies import events, filters

from headrace.filters import compile_filter, union


def of(*texts, **options):
    return union((compile_filter({"cel": text}) for text in texts), **options)


UNIONS = [
    ([], "false"),
    (["data.a == 1"], "data.a == 1"),
    (["data.a == 1", "data.a == 1"], "data.a == 1"),
    (["data.a == 1", "data.a == 2", "data.a in [2, 3]"], "data.a in [1, 2, 3]"),
    (["data.a == 1", "data.a == 1 && data.b"], "data.a == 1"),
    (
        ["ce.type == 'a' && data.b > 1", "ce.type == 'c' && data.b > 1"],
        'ce.type in ["a", "c"] && data.b > 1',
    ),
    (
        ["data.b > 1 && ce.type == 'a'", "data.b > 1 && ce.type == 'c'", "data.b > 2 && ce.type == 'd'"],
        'ce.type in ["a", "c"] && data.b > 1 || ce.type == "d" && data.b > 2',
    ),
    (["data.a == 1", "true"], "true"),
    (["data.a", "!data.a"], "data.a || !data.a"),
    (
        ["has(data.a) && data.a == 1", "has(data.a) && has(data.b)"],
        "data.a == 1 || has(data.a) && has(data.b)",
    ),
    (["has(data.a) && !(data.a < 5)"], "!(data.a < 5)"),
]


@pytest.mark.parametrize(("texts", "expected"), UNIONS)
def test_unions(texts, expected):
    joined = of(*texts)
    assert joined.cel == expected
    assert not joined.widened


def test_widens_when_it_is_too_long():
    texts = [f"ce.type == '{i}' && data.b > {i}" for i in range(20)]
    assert not of(*texts).widened
    types = of(*texts, longest=200)
    assert types.widened
    assert types.cel.startswith('ce.type in ["0", "1",')
    assert types.cel.endswith("] && data.b > 0")
    assert of(*texts, longest=50).cel == 'ce.type.startsWith("") && data.b > 0'
    assert of(*texts, longest=5).cel == "true"


@given(st.lists(filters, max_size=4), events())
def test_holds_exactly_where_some_filter_does_unless_it_says_more(specs, event):
    compiled = [compile_filter(spec) for spec in specs]
    joined = union(compiled)
    wanted = any(each.matches(event) for each in compiled)
    matched = compile_filter({"cel": joined.cel}).matches(event)
    assert matched is wanted or (matched and joined.widened)


def test_does_not_blow_up_a_filter_that_has_many_alternatives():
    text = " && ".join(f"(data.a == {i} || data.b > {i})" for i in range(12))
    joined = of(text)
    assert not joined.widened
    assert len(joined.cel) < 20 * len(text)


@examples(200)
@given(
    st.lists(cel_filters, min_size=1, max_size=4), data_events, st.sampled_from([10, 40, 100, 300, 10_000])
)
def test_never_narrows(compiled, event, longest):
    joined = union(compiled, longest=longest)
    wanted = any(each.matches(event) for each in compiled)
    matched = compile_filter({"cel": joined.cel}).matches(event)
    assert matched or not wanted
    assert joined.widened or matched is wanted
    assert len(joined.cel) <= longest


@examples(200, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(every_filter, min_size=1, max_size=3), every_event(), st.sampled_from([30, 60, 10_000]))
def test_is_true_wherever_a_filter_of_any_dialect_is(specs, event, longest):
    compiled = [compile_filter(spec) for spec in specs]
    joined = union(compiled, longest=longest)
    wanted = any(each.matches(event) for each in compiled)
    got = compile_filter({"cel": joined.cel}).matches(event)
    assert got is wanted if not joined.widened else got >= wanted
