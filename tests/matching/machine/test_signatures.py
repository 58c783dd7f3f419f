"""Every kernel, and all that kernels call, says what it takes and returns; and the records fit the arrays."""

import importlib
import pkgutil

import pytest
from numba.core.dispatcher import Dispatcher

import headrace.matching
from headrace.matching.index.kernels.records import (
    Alternative,
    Check,
    Interval,
    Key,
    Post,
    SlotTrees,
    Span,
    TablePointers,
)
from headrace.matching.index.tables import Tables
from headrace.matching.machine import OutOfBounds

_MODULES = [each.name for each in pkgutil.walk_packages(headrace.matching.__path__, "headrace.matching.")]
_KERNELS = {
    f"{function.py_func.__module__}.{name}": function.py_func
    for module in _MODULES
    for name, function in vars(importlib.import_module(module)).items()
    if isinstance(function, Dispatcher)
}


def test_there_are_kernels():
    assert len(_KERNELS) > 100
    assert issubclass(OutOfBounds, IndexError)


@pytest.mark.parametrize("name", _KERNELS)
def test_a_kernel_says_what_it_takes_and_returns(name):
    function = _KERNELS[name]
    taken = function.__code__.co_varnames[: function.__code__.co_argcount]
    assert set(function.__annotations__) == {*taken, "return"}
    assert "Any" not in function.__annotations__.values()


def test_the_tables_have_one_order():
    assert TablePointers.dtype.names == Tables._fields


@pytest.mark.parametrize(
    ("record", "size"),
    [(Key, 32), (Post, 12), (Alternative, 32), (Check, 16), (Interval, 32), (Span, 24), (SlotTrees, 12)],
)
def test_records_are_as_wide_as_the_rows_of_snapshots(record, size):
    assert record.dtype.itemsize == size
