"""A compiled filter that was kept is the one that would be compiled now."""

import os
import pickle
from hashlib import sha256
from typing import Any

import pytest
from tests.filters.test_cases import CASES

from headrace.errors import FilterError
from headrace.filters import compile_filter, compiled
from headrace.filters.compiled import VERSION, compile_to_bytes, load_tree, read_compiled

ONE, OTHER = [{"cel": "data.amount > 5"}], [{"exact": {"type": "t"}}]
EACH_DIALECT: list[dict[str, Any]] = [
    {"exact": {"type": "t"}},
    {"prefix": {"type": "t"}},
    {"suffix": {"source": "/x"}},
    {"all": [{"exact": {"type": "t"}}, {"not": {"prefix": {"subject": "s"}}}]},
    {"any": [{"exact": {"type": "t"}}, {"sql": "type LIKE 'a%' AND EXISTS subject"}]},
    {"sql": "LOWER(source) = 'x' OR number + 1 > 3"},
    {"cel": "data.items.exists(i, i.price > 10) && ce.type.startsWith('com.')"},
    {"cel": "ce.subject.matches('^a.*b$') || data.name.match('x*')"},
    {"attributes": {"type": "t", "source": ""}},
    {"sourceAndType": {"source": "s", "type": "t"}},
    {"message": {"property": "type", "op": "equals", "value": "t"}},
    {"streamer": [{"field": "data.amount", "op": ">", "value": 5}]},
]
PINNED = (1, "0fc860d90ebfa8d6")
"""The version, and a digest of what these are compiled to."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_read_as_it_is_compiled(case):
    filters = case.filter if isinstance(case.filter, list) else [case.filter]
    wanted, read = compile_filter(filters), read_compiled(filters, compile_to_bytes(filters))
    assert (read, read.notes, read.written) == (wanted, wanted.notes, wanted.written)


def test_what_was_kept_is_not_compiled_again(monkeypatch):
    kept = compile_to_bytes(ONE)
    monkeypatch.setattr(compiled, "compile_filter", None)
    assert read_compiled(tuple(ONE), kept).cel == "data.amount > 5"


@pytest.mark.parametrize(
    "kept",
    [
        None,
        b"",
        (VERSION + 1).to_bytes(2) + compile_to_bytes(ONE)[2:],
        compile_to_bytes(OTHER),
        compile_to_bytes(ONE)[:-5],
        compile_to_bytes(ONE)[:18] + pickle.dumps(os.system),
        compile_to_bytes(ONE)[:18] + pickle.dumps(("no", "such", "parts", "here")),
    ],
    ids=["none", "empty", "version", "filters", "cut", "foreign", "parts"],
)
def test_what_can_t_be_used_is_compiled_anew(kept):
    assert read_compiled(ONE, kept) == compile_filter(ONE)


def test_what_is_no_filter_is_refused():
    with pytest.raises(FilterError):
        compile_to_bytes([{"cel": "data."}])


@pytest.mark.parametrize(
    "pickled",
    [
        pickle.dumps(os.system),
        b"cheadrace.filters.compiled\nblake2b\n.",
        b"cheadrace.filters.compiled\nread_compiled\n.",
    ],
    ids=["elsewhere", "imported", "function"],
)
def test_nothing_but_filters_is_unpickled(pickled):
    with pytest.raises(pickle.UnpicklingError, match="no place in a filter"):
        load_tree(pickled)


def test_another_tree_is_another_version():
    trees = repr([compile_filter(each).expression for each in EACH_DIALECT])
    found = VERSION, sha256(trees.encode()).hexdigest()[:16]
    assert found == PINNED, (
        "filters are compiled to other trees: raise VERSION in filters/compiled.py, and pin it here"
    )
