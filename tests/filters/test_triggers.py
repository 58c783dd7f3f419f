"""`filter` and `filters` of a trigger."""

from typing import Any

import pytest

from headrace.errors import FilterError
from headrace.filters import compile_filter, compile_trigger

_OLD = {"attributes": {"type": "old"}}
_NEW: list[dict[str, Any]] = [{"exact": {"type": "new"}}, {"cesql": "subject = 'x'"}]


def test_filters_override_filter():
    assert compile_trigger({"filter": _OLD, "filters": _NEW}) == compile_filter(_NEW)


@pytest.mark.parametrize("none", [{}, {"filters": []}, {"filters": None}])
def test_without_filters_filter_counts(none):
    assert compile_trigger({"filter": _OLD, **none}) == compile_filter(_OLD)


@pytest.mark.parametrize("spec", [{}, {"filter": {}}, {"filter": None, "filters": []}])
def test_neither_holds_always(spec):
    assert compile_trigger(spec) == compile_filter(None)


def test_only_one_top_level_filter():
    with pytest.raises(FilterError, match="exactly one key"):
        compile_trigger({"filter": {"attributes": {"type": "a"}, "expression": "true"}})


def test_a_fault_in_the_filters_is_told():
    with pytest.raises(FilterError, match=r"filters\[1\]"):
        compile_trigger({"filters": [{"exact": {"type": "a"}}, {"cesql": "nonsense nonsense"}]})
