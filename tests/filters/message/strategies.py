"""Generators of predicate trees and recorded events that meet often: few names, few and similar values."""

from typing import Any

from hypothesis import strategies as st

from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters.message import And, Not, Operator, Or, Predicate, Property, Time
from headrace.filters.message.operators import ANY_TYPE, MANY

FIRST_DRAFT_ONLY = [operator for operator in Operator if "STARTS_WITH" in operator.name] + [
    Operator.CONTAINS,
    Operator.CONTAINS_IGNORE_CASE,
    Operator.DOES_NOT_CONTAIN,
    Operator.DOES_NOT_CONTAIN_IGNORE_CASE,
]
REVISED_ONLY = [Operator.LIKE, Operator.NOT_LIKE, Operator.CONTAINS_ALL, Operator.BETWEEN]
REVISED = [operator for operator in Operator if operator not in FIRST_DRAFT_ONLY]
FIRST_DRAFT = [operator for operator in Operator if operator not in REVISED_ONLY]

NAMES = ("type", "subject", "time", "region", "tso", "in", "1st")
TIMES = ("2021-02-22T05:41:00Z", "2021-02-22T05:41:00.001+00:00", "1969-12-31T23:59:59.9995Z", "yesterday")
INSTANTS = (1613972460000, 1613972460001, -1, 0)

# Without NUL: CloudEvents forbids it, and Google's Python binding of CEL cuts the strings it is given there.
odd_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
numeric_texts = st.sampled_from(
    [
        "1",
        "+1",
        " 1",
        "01",
        "1.0",
        "1.5",
        "-1",
        "1e0",
        "0x1",
        "nan",
        "inf",
        "-inf",
        "1_0",
        "",
        "42",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "1e400",
        ".5",
        "5.",
    ]
)
texts = st.text("aAbß\n", max_size=4) | numeric_texts | odd_texts
patterns = st.text("aAb%_\\\n.", max_size=6) | texts
longs = st.integers(-2, 3) | st.sampled_from(INSTANTS) | st.integers(-(2**63), 2**63 - 1)
doubles = (
    st.sampled_from([1.0, 1.5, -0.0, 1613972460000.0, 1e16])
    | longs.map(float)
    | st.floats(allow_nan=False, allow_infinity=False)
)


@st.composite
def predicates(draw, operators=tuple(Operator)):
    reference = draw(st.sampled_from(NAMES).map(Property) | st.sampled_from(Time))
    if isinstance(reference, Time):
        operators = [operator for operator in operators if operator in ANY_TYPE]
    operator = draw(st.sampled_from(operators))
    kinds: Any = [longs, doubles] if isinstance(reference, Time) else [texts, longs, doubles]
    if operator not in ANY_TYPE:
        kinds = [patterns]
    return Predicate(reference, operator, draw(_operands(operator, draw(st.sampled_from(kinds)))))


def _operands(operator, values):
    if operator is Operator.BETWEEN:
        return st.tuples(values, values)
    if operator in MANY:
        return st.lists(values, min_size=1, max_size=3).map(tuple)
    return st.tuples(values)


def trees(operators=tuple(Operator)):
    return st.recursive(
        predicates(operators),
        lambda inner: (
            inner.map(Not)
            | st.lists(inner, min_size=2, max_size=4).map(lambda parts: And(tuple(parts)))
            | st.lists(inner, min_size=2, max_size=4).map(lambda parts: Or(tuple(parts)))
        ),
        max_leaves=8,
    )


extension_values = texts | st.booleans() | st.integers(-2, 3) | st.integers(-(2**31), 2**31 - 1)
old_extension_values = extension_values | doubles | st.lists(texts, max_size=2) | st.just({"a": 1})


@st.composite
def recorded_events(draw):
    attributes = {"specversion": "1.0", "id": "1", "source": "/s", "type": draw(texts)}
    if draw(st.booleans()):
        attributes["subject"] = draw(texts)
    if draw(st.booleans()):
        attributes["time"] = draw(st.sampled_from(TIMES))
    attributes |= draw(st.dictionaries(st.sampled_from(["region", "tso", "in", "1st"]), old_extension_values))
    return recorded(
        attributes, publish_time=draw(st.sampled_from(INSTANTS)) * 1000 + draw(st.integers(0, 999))
    )


def recorded(attributes, publish_time=0):
    return Recorded(0, publish_time, Arrival(Event(attributes), "default", "default"))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([operator.value for operator in Operator])
    | st.sampled_from(["publish_time", "event_time", "region", "long", "double", "string"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["property", "ref", "op", "value", "values", "type", "and", "or", "not"])
            | st.text(max_size=2),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
