import pytest

from headrace.errors import FilterError
from headrace.filters import compile_filter


@pytest.mark.parametrize("name", ["sqll", "Exact", "", "dialect", 3, None])
def test_an_unknown_dialect_is_refused_with_the_known_ones(name):
    with pytest.raises(FilterError) as refusal:
        compile_filter([{name: {"type": "t"}}])
    assert refusal.value.path == "filters[0]"
    assert "exact, prefix, suffix, all, any, not" in str(refusal.value)
    assert repr(name) in str(refusal.value)


@pytest.mark.parametrize(
    "spec", [{}, {"exact": {"type": "t"}, "prefix": {"type": "t"}}, "exact", 7, True, b"x", "", b""]
)
def test_a_filter_has_exactly_one_key(spec):
    with pytest.raises(FilterError, match="exactly one key"):
        compile_filter(spec)


def test_an_element_that_is_no_object_is_refused():
    with pytest.raises(FilterError, match=r"^filters\[1\]: .* not None$"):
        compile_filter([{"exact": {"type": "t"}}, None])  # type: ignore[list-item]
