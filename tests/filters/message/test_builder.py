import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from tests.filters.message.strategies import trees

from headrace.errors import FilterError
from headrace.filters.message import (
    And,
    Not,
    Operator,
    Or,
    Predicate,
    Property,
    Time,
    ValueType,
    event_time,
    property,  # noqa: A004
    publish_time,
)

P: Any = property("p")
A, B, C = P.equals("a"), P.equals("b"), P.equals("c")
NOTHING: Any = None

MADE = [
    (P.equals("a"), Operator.EQUALS, ("a",)),
    (P.not_equals(1), Operator.NOT_EQUALS, (1,)),
    (P.in_("a", "b"), Operator.IN, ("a", "b")),
    (P.not_in(1.0), Operator.NOT_IN, (1.0,)),
    (P.greater_than(1), Operator.GREATER_THAN, (1,)),
    (P.greater_than_equals(1), Operator.GREATER_THAN_EQUALS, (1,)),
    (P.less_than(1), Operator.LESS_THAN, (1,)),
    (P.less_than_equals(1), Operator.LESS_THAN_EQUALS, (1,)),
    (P.between("a", "b"), Operator.BETWEEN, ("a", "b")),
    (P.like("a%"), Operator.LIKE, ("a%",)),
    (P.not_like("a%"), Operator.NOT_LIKE, ("a%",)),
    (P.contains_all("a"), Operator.CONTAINS_ALL, ("a",)),
    (P.contains_any("a", "b", "c"), Operator.CONTAINS_ANY, ("a", "b", "c")),
    (P.contains_none("a", "b"), Operator.CONTAINS_NONE, ("a", "b")),
    (P.starts_with("a"), Operator.STARTS_WITH, ("a",)),
    (P.starts_with("a", ignore_case=True), Operator.STARTS_WITH_IGNORE_CASE, ("a",)),
    (P.contains("a"), Operator.CONTAINS, ("a",)),
    (P.contains("a", ignore_case=True), Operator.CONTAINS_IGNORE_CASE, ("a",)),
    (P.does_not_contain("a"), Operator.DOES_NOT_CONTAIN, ("a",)),
    (P.does_not_contain("a", ignore_case=True), Operator.DOES_NOT_CONTAIN_IGNORE_CASE, ("a",)),
]


@pytest.mark.parametrize(("made", "operator", "values"), MADE)
def test_each_method_makes_its_predicate(made, operator, values):
    assert made == Predicate(Property("p"), operator, values)


def test_every_operator_has_a_method():
    assert {operator for _, operator, _ in MADE} == set(Operator)


def test_times():
    assert event_time().equals(1) == Predicate(Time.EVENT, Operator.EQUALS, (1,))
    assert publish_time().between(1, 2) == Predicate(Time.PUBLISH, Operator.BETWEEN, (1, 2))


def test_the_types_of_operands_tell_predicates_apart():
    assert P.equals(1) != P.equals(1.0)
    assert P.equals(1).value_type is ValueType.LONG
    assert P.equals(1.0).value_type is ValueType.DOUBLE
    assert P.equals("1").value_type is ValueType.STRING


def test_combining():
    assert A & B == A.and_(B) == And((A, B))
    assert A | B == A.or_(B) == Or((A, B))
    assert ~A == A.not_() == Not(A)
    assert A.and_(B, C) == A & B & C == A & (B & C) == And((A, B, C))
    assert A.or_(B, C) == A | B | C == A | (B | C) == Or((A, B, C))
    assert And((Or((A, B)), C)) == (A | B) & C


def test_what_python_would_get_wrong_raises():
    for wrong in (lambda: A and B, lambda: not A, lambda: A or B, lambda: bool(~A)):
        with pytest.raises(TypeError, match="combine predicates with &"):
            wrong()
    with pytest.raises(TypeError):
        A & "b"


@given(trees(), trees())
def test_trees_are_values(a, b):
    assert pickle.loads(pickle.dumps(a)) == a
    assert hash(pickle.loads(pickle.dumps(a))) == hash(a)
    assert (a == b) is (repr(a) == repr(b)) or "-0.0" in repr((a, b))


REFUSED = [
    (lambda: P.equals(True), "a string, an integer or a double, not True"),
    (lambda: P.equals(None), "not None"),
    (lambda: P.equals(b"a"), "not b'a'"),
    (lambda: P.equals(2**63), "64 bits, not 9223372036854775808"),
    (lambda: P.equals(10**5000), "a very large integer"),
    (lambda: P.equals(float("nan")), "finite, not nan"),
    (lambda: P.equals(float("inf")), "finite, not inf"),
    (lambda: P.equals("\ud800"), "lone surrogates"),
    (P.in_, "in takes at least one operand"),
    (lambda: P.in_(1, 2.5), "of one type, not of double and long"),
    (lambda: P.not_in("a", 1), "of one type, not of long and string"),
    (lambda: P.between(1, 2.0), "of one type"),
    (lambda: P.like(1), "like takes strings only"),
    (lambda: P.contains_any("a", 1), "of one type"),
    (lambda: P.contains_none(1), "contains_none takes strings only"),
    (P.contains_all, "contains_all takes at least one"),
    (lambda: P.starts_with(1.5), "starts_with takes strings only"),
    (
        lambda: event_time().equals("2021-02-22T05:41:00Z"),
        "event_time must be compared with a number of milliseconds",
    ),
    (lambda: publish_time().like("16%"), "publish_time must be compared with a number"),
    (lambda: property("GTID"), "lower-case letters and digits, not 'GTID'"),
    (lambda: property(""), "not ''"),
    (lambda: property(NOTHING), "not None"),
    (lambda: property("data"), "event's data"),
    (lambda: A.and_("b"), "only predicates can be combined, not 'b'"),
    (lambda: Not(NOTHING), "not None"),
    (lambda: And((A,)), "and combines at least two"),
    (lambda: Or(()), "or combines at least two"),
    (lambda: Predicate(Property("p"), Operator.BETWEEN, (1, 2, 3)), "between takes two operands, not 3"),
    (lambda: Predicate(Property("p"), Operator.EQUALS, (1, 2)), "equals takes one operand, not 2"),
]


@pytest.mark.parametrize(("make", "says"), REFUSED)
def test_refuses_when_it_is_built(make, says):
    with pytest.raises(FilterError, match=re.escape(says)):
        make()
