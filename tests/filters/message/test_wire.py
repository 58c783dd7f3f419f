"""The bytes, field by field."""

import re

import pytest
from tests.filters.message.strategies import FIRST_DRAFT_ONLY, REVISED_ONLY

from headrace.errors import FilterError
from headrace.filters.message import (
    Operator,
    Predicate,
    Property,
    Seek,
    Version,
    decode_seek,
    encode_seek,
    event_time,
    from_bytes,
    property,  # noqa: A004
    publish_time,
    to_bytes,
)

V1, V2 = Version.FIRST_DRAFT, Version.REVISED
P = property("p")


def number(field, value):
    return bytes([field << 3, value])


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return bytes([field << 3 | 2, len(content)]) + content


def predicate(*fields):
    return number(1, 0) + block(2, b"".join(fields))


def asks(ref=0, name="p", op=0, values=("a",), ty=0):
    named = block(2, name) if name is not None else b""
    return predicate(
        number(1, ref), named, number(3, op), *(block(4, value) for value in values), number(5, ty)
    )


A = asks()

WRITTEN = [
    (V2, P.equals("a"), A),
    (V2, P.in_(1, -2), asks(op=2, values=("1", "-2"), ty=1)),
    (V2, P.greater_than(1.5), asks(op=4, values=("1.5",), ty=2)),
    (V2, P.like("a%"), asks(op=8, values=("a%",))),
    (V2, P.not_like("a"), asks(op=9)),
    (V2, P.contains_all("a"), asks(op=10)),
    (V2, P.contains_any("a"), asks(op=11)),
    (V2, P.contains_none("a"), asks(op=12)),
    (V2, P.between(1, 2), asks(op=13, values=("1", "2"), ty=1)),
    (V2, event_time().less_than(7), asks(ref=1, name=None, op=6, values=("7",), ty=1)),
    (V2, publish_time().less_than_equals(7), asks(ref=2, name=None, op=7, values=("7",), ty=1)),
    (V2, ~P.equals("a"), number(1, 3) + block(3, A)),
    (V2, P.equals("a") & P.equals("a"), number(1, 1) + block(3, A) + block(4, A)),
    (V2, P.equals("a") | P.equals("a"), number(1, 2) + block(3, A) + block(4, A)),
    (V1, P.equals("a"), A),
    (V1, P.starts_with("a"), asks(op=8)),
    (V1, P.starts_with("a", ignore_case=True), asks(op=9)),
    (V1, P.contains("a"), asks(op=10)),
    (V1, P.contains("a", ignore_case=True), asks(op=11)),
    (V1, P.does_not_contain("a"), asks(op=12)),
    (V1, P.does_not_contain("a", ignore_case=True), asks(op=13)),
    (V1, P.contains_any("a"), asks(op=14)),
    (V1, P.contains_none("a"), asks(op=15)),
]


@pytest.mark.parametrize(("version", "tree", "data"), WRITTEN)
def test_written(version, tree, data):
    assert to_bytes(tree, version) == data
    assert from_bytes(data, version) == tree


def test_a_type_that_is_absent_is_string():
    assert from_bytes(predicate(number(1, 0), block(2, "p"), number(3, 0), block(4, "1"))) == P.equals("1")


@pytest.mark.parametrize(
    ("version", "operator"), [(V2, each) for each in FIRST_DRAFT_ONLY] + [(V1, each) for each in REVISED_ONLY]
)
def test_an_operator_of_the_other_version_is_refused(version, operator):
    values = ("a", "b") if operator is Operator.BETWEEN else ("a",)
    with pytest.raises(FilterError, match=f"{operator.value} does not exist in version {version.value}"):
        to_bytes(Predicate(Property("p"), operator, values), version)


REFUSED = [
    # bytes, path, what the message must say
    (b"\xff", "expr", "is not a message headrace.message.v2.Expr"),
    (b"", "expr", "required field `ty` is missing"),
    (number(1, 4), "expr", "field `ty` has an unknown value"),
    (number(1, 0), "expr", "PREDICATE needs field `predicate`"),
    (A + block(3, A), "expr", "PREDICATE has no field `lhs`"),
    (number(1, 3), "expr", "NOT needs field `lhs`"),
    (number(1, 3) + block(3, A) + block(4, A), "expr", "NOT has no field `rhs`"),
    (number(1, 1) + block(3, A), "expr", "AND needs field `rhs`"),
    (number(1, 2) + block(4, A), "expr", "OR needs field `lhs`"),
    (A + number(9, 1), "expr", "field 9 is unknown"),
    (asks(ref=3), "expr.predicate", "field `ref` has an unknown value"),
    (asks(op=14), "expr.predicate", "field `op` has an unknown value"),
    (asks(ty=3), "expr.predicate", "field `ty` has an unknown value"),
    (predicate(block(2, "p"), number(3, 0), block(4, "a")), "expr.predicate", "required field `ref`"),
    (predicate(number(1, 0), block(2, "p"), block(4, "a")), "expr.predicate", "required field `op`"),
    (asks(name=None), "expr.predicate", "a property needs the field `name`"),
    (asks(ref=1, values=("1",), ty=1), "expr.predicate", "a time has no `name`"),
    (asks(name="GTID"), "expr.predicate.name", "not 'GTID'"),
    (asks(values=()), "expr.predicate.values", "equals takes one operand, not 0"),
    (asks(values=("a", "b")), "expr.predicate.values", "equals takes one operand, not 2"),
    (asks(ty=1), "expr.predicate.values", "'a' is not a long"),
    (asks(ty=2), "expr.predicate.values", "'a' is not a double"),
    (asks(values=("NaN",), ty=2), "expr.predicate.values", "'NaN' is not a double"),
    (asks(values=("9223372036854775808",), ty=1), "expr.predicate.values", "64 bits"),
    (asks(op=8, values=("1",), ty=1), "expr.predicate.values", "like takes strings only"),
    (asks(ref=2, name=None, values=("1",)), "expr.predicate.values", "number of milliseconds"),
    (
        number(1, 1) + block(3, A) + block(4, number(1, 3) + block(3, asks(ty=1))),
        "expr.rhs.lhs.predicate.values",
        "long",
    ),
    (asks(name=b"\xff"), "expr.predicate.name", "must be valid UTF-8"),
    (asks(values=(b"\xff",)), "expr.predicate.values", "must be valid UTF-8"),
    (asks(values=(b"\xff",), ty=1), "expr.predicate.values", "must be valid UTF-8"),
]


@pytest.mark.parametrize(("data", "path", "says"), REFUSED)
def test_refuses_with_the_path_to_the_fault(data, path, says):
    with pytest.raises(FilterError, match=re.escape(says)) as refusal:
        from_bytes(data)
    assert refusal.value.path == path


IDS = number(1, 7) + number(2, 9)

SEEKS = [
    (Seek(7, 9, position=5), IDS + block(3, number(1, 0) + number(2, 5))),
    (Seek(7, 9, publish_time=5), IDS + number(4, 5)),
    (Seek(7, 9, expression=P.equals("a")), IDS + block(5, A)),
    (Seek(0, 0, publish_time=0), number(1, 0) + number(2, 0) + number(4, 0)),
]


@pytest.mark.parametrize(("seek", "data"), SEEKS)
def test_seek_written(seek, data):
    assert encode_seek(seek) == data
    assert decode_seek(data) == seek


def test_seek_in_the_wire_form_of_the_first_draft():
    seek = Seek(7, 9, expression=P.starts_with("a"))
    assert encode_seek(seek, V1) == IDS + block(5, asks(op=8))
    assert decode_seek(encode_seek(seek, V1), V1) == seek
    assert decode_seek(encode_seek(seek, V1), V2) == Seek(7, 9, expression=P.like("a"))


SEEKS_REFUSED = [
    (IDS, "seek", "at least one of"),
    (number(1, 7) + number(4, 5), "seek", "required field `request_id`"),
    (number(2, 7) + number(4, 5), "seek", "required field `consumer_id`"),
    (IDS + number(4, 5) + number(6, 1), "seek", "field 6 is unknown"),
    (IDS + block(3, number(2, 5)), "seek.message_id", "required field `ledgerId`"),
    (IDS + block(3, number(1, 1) + number(2, 5)), "seek.message_id", "`entryId` alone"),
    (IDS + block(3, number(1, 0) + number(2, 5) + number(3, 0)), "seek.message_id", "`entryId` alone"),
    (IDS + bytes([4 << 3]) + b"\xff" * 9 + b"\x01", "seek", "message_publish_time must be an integer from 0"),
    (IDS + block(5, asks(ty=1)), "seek.expression.predicate.values", "'a' is not a long"),
    (b"\x01", "seek", "is not a message headrace.message.v2.CommandSeek"),
]


@pytest.mark.parametrize(("data", "path", "says"), SEEKS_REFUSED)
def test_seek_refuses_with_the_path_to_the_fault(data, path, says):
    with pytest.raises(FilterError, match=re.escape(says)) as refusal:
        decode_seek(data)
    assert refusal.value.path == path


@pytest.mark.parametrize(
    "wrong", [{"consumer_id": -1}, {"request_id": 2**64}, {"position": True}, {"publish_time": -1}]
)
def test_seek_is_valid_by_construction(wrong):
    with pytest.raises(FilterError, match="must be an integer from 0 to"):
        Seek(**{"consumer_id": 1, "request_id": 1, "publish_time": 1, **wrong})
