"""Builder, JSON and protobuf are three spellings of one tree."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.message.strategies import FIRST_DRAFT, REVISED, json_values, trees

from headrace.errors import FilterError
from headrace.filters.bounds.limits import Limits
from headrace.filters.message import (
    And,
    Expr,
    Not,
    Or,
    Seek,
    Version,
    decode_seek,
    encode_seek,
    from_bytes,
    from_json,
    property,  # noqa: A004
    to_bytes,
    to_json,
)

A, B = property("p").equals("a"), property("p").equals(1)


@given(trees())
def test_through_json(tree):
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


@given(trees(REVISED))
def test_through_the_revised_wire_form(tree):
    assert from_bytes(to_bytes(tree)) == tree
    assert to_bytes(from_bytes(to_bytes(tree))) == to_bytes(tree)


@given(trees(FIRST_DRAFT))
def test_through_the_wire_form_of_the_first_draft(tree):
    data = to_bytes(tree, Version.FIRST_DRAFT)
    assert from_bytes(data, Version.FIRST_DRAFT) == tree


uint64s = st.integers(0, 2**64 - 1)
maybe = st.none() | st.integers(0, 2**63 - 1)


@given(uint64s, uint64s, maybe, maybe, trees(REVISED))
def test_seek_through_the_wire_form(consumer, request, position, time, tree):
    seek = Seek(consumer, request, position, time, tree)
    assert decode_seek(encode_seek(seek)) == seek


@given(trees(REVISED), st.data())
def test_damaged_bytes_are_read_or_refused(tree, data):
    damaged = bytearray(to_bytes(tree))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    for version in Version:
        _read_or_refuse(lambda version=version: from_bytes(bytes(damaged), version))
        _read_or_refuse(lambda version=version: decode_seek(bytes(damaged), version))


@given(st.binary(max_size=60), st.sampled_from(Version))
def test_arbitrary_bytes_are_read_or_refused(data, version):
    _read_or_refuse(lambda: from_bytes(data, version))
    _read_or_refuse(lambda: decode_seek(data, version))


@examples(500)
@given(json_values)
@example({"property": "p", "op": "equals", "value": 10**5000})
@example({"property": "p", "op": "equals", "value": 10**5000, "type": "double"})
@example({"property": "p", "op": "equals", "value": "9" * 5000, "type": "long"})
@example({"and": {"p": 10**5000}})
@example({1: 2})
def test_arbitrary_json_is_read_or_refused(body):
    _read_or_refuse(lambda: from_json(body))


def _read_or_refuse(read):
    try:
        read()
    except FilterError as refusal:
        assert refusal.path  # noqa: PT017 -- a refusal is one of two good outcomes


def nested(levels):
    tree: Expr = A
    for _ in range(levels - 1):
        tree = Not(tree)
    return tree


def test_depth_is_limited():
    limits = Limits(depth=5)
    assert from_json(to_json(nested(5)), limits=limits) == from_bytes(to_bytes(nested(5)), limits=limits)
    for read in (
        lambda: from_json(to_json(nested(6)), limits=limits),
        lambda: from_json(to_json(nested(5)), limits=limits, depth=2),
        lambda: from_bytes(to_bytes(nested(6)), limits=limits),
        lambda: decode_seek(encode_seek(Seek(1, 1, expression=nested(6))), limits=limits),
    ):
        with pytest.raises(FilterError) as refusal:
            read()
        assert refusal.value.limit == "depth"


def test_json_deeper_than_python_goes():
    body: dict[str, object] = {"property": "p", "op": "equals", "value": "a"}
    for _ in range(100_000):
        body = {"not": body}
    with pytest.raises(FilterError) as refusal:
        from_json(body)
    assert refusal.value.limit == "depth"


def test_protobuf_deeper_than_its_parser_goes():
    with pytest.raises(FilterError):
        from_bytes(b"\x08\x03\x1a\xff\x7f" * 200)


def test_what_is_written_can_be_read():
    limits = Limits(depth=200)
    assert from_bytes(to_bytes(nested(98)), limits=limits) == nested(98)
    seek = Seek(1, 1, expression=nested(98))
    assert decode_seek(encode_seek(seek), limits=limits) == seek
    for too_deep in (nested(99), nested(500)):
        with pytest.raises(FilterError, match="98 levels") as refusal:
            to_bytes(too_deep)
        assert refusal.value.limit == "depth"


def test_a_thousand_parts_fit_into_protobuf():
    for connective in (And, Or):
        wide = connective(tuple(property("p").equals(number) for number in range(1000)))
        assert from_bytes(to_bytes(wide)) == wide
        assert from_json(to_json(wide)) == wide


@pytest.mark.parametrize(
    "tree", [A.and_(B, B), property("p").in_("a", "b", "c"), A | property("p").contains_any("a", "b")]
)
def test_operands_are_limited(tree):
    assert from_json(to_json(tree), limits=Limits(atoms=3)) == tree
    for read in (
        lambda: from_json(to_json(tree), limits=Limits(atoms=2)),
        lambda: from_bytes(to_bytes(tree), limits=Limits(atoms=2)),
    ):
        with pytest.raises(FilterError, match="3 comparisons exceed the limit `atoms` of 2") as refusal:
            read()
        assert refusal.value.limit == "atoms"


@pytest.mark.parametrize("tree", [property("p").equals("abcd"), property("abcd").equals("a")])
def test_lengths_are_limited(tree):
    assert from_json(to_json(tree), limits=Limits(length=4)) == tree
    for read in (
        lambda: from_json(to_json(tree), limits=Limits(length=3)),
        lambda: from_bytes(to_bytes(tree), limits=Limits(length=3)),
    ):
        with pytest.raises(FilterError, match="4 characters") as refusal:
            read()
        assert refusal.value.limit == "length"
