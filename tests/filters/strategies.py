"""Generators of filters, trees and events that meet often: few names, few and similar texts."""

from hypothesis import strategies as st

from headrace.events.event import Event
from headrace.filters.dialects.table import DIALECTS
from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    Matches,
    MatchesGlob,
    OneOf,
    Operator,
    StartsWith,
)
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text

REQUIRED_NAMES = ("specversion", "id", "source", "type")
NAMES = (*REQUIRED_NAMES, "subject", "time", "dataschema", "count", "urgent", "in", "1st")

similar_texts = st.text("ab4", min_size=1, max_size=3)
# Without NUL: CloudEvents forbids it, and Google's Python binding of CEL cuts the strings it is given there.
odd_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)
texts = (
    similar_texts
    | st.sampled_from(["42", "-1", "true", "false", "tr", "e", "4", "é", '"', "\\", "\n"])
    | odd_texts
)
int64s = st.integers(-(2**63), 2**63 - 1)
canonical_values = texts | st.just("") | st.booleans() | st.integers(-2, 50) | int64s


@st.composite
def events(draw, values=canonical_values):
    required = draw(st.fixed_dictionaries(dict.fromkeys(REQUIRED_NAMES, texts)))
    known = draw(st.dictionaries(st.sampled_from(["subject", "time", "dataschema"]), texts | st.just("")))
    extensions = draw(st.dictionaries(st.sampled_from(["count", "urgent", "in", "1st"]), values))
    return Event(attributes=required | known | extensions)


conditions = st.dictionaries(st.sampled_from(NAMES), texts, min_size=1, max_size=3)
simple_filters = st.builds(
    lambda dialect, body: {dialect: body}, st.sampled_from(["exact", "prefix", "suffix"]), conditions
)


def composite_filters(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda parts: {"all": parts}),
        several.map(lambda parts: {"any": parts}),
        inner.map(lambda part: {"not": part}),
    )


filters = st.recursive(simple_filters, composite_filters, max_leaves=8)

scalars = (
    texts
    | st.booleans()
    | st.none()
    | st.integers(-2, 50)
    | int64s
    | st.floats(allow_nan=False, allow_infinity=False)
)
nested_values = (
    scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from("ab"), scalars, max_size=2)
)
literals = scalars.map(Literal)

paths = st.sampled_from([("ce", name) for name in NAMES] + [("ce", "count", "a"), ("ce", "in", "b")]).map(
    Path
)
operands = paths | paths.map(Text)
atoms = st.one_of(
    paths.map(Has),
    st.builds(Comparison, operands, st.sampled_from(Operator), literals),
    st.builds(StartsWith, operands, texts),
    st.builds(EndsWith, operands, texts),
    st.builds(Contains, operands, texts),
    st.builds(OneOf, operands, st.lists(literals, max_size=3).map(tuple)),
    st.builds(Includes, operands, literals),
    st.builds(Matches, operands, st.sampled_from(["", "^a", "b$", "[ab]+4", "."])),
    st.builds(MatchesGlob, operands, st.sampled_from(["", "*", "a*", "?", "*[!a]", "a[ab]"])),
)
expressions = st.recursive(
    atoms | st.booleans().map(Constant),
    lambda inner: (
        inner.map(Not)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts)))
    ),
    max_leaves=8,
)

odd_events = events(values=nested_values)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*DIALECTS, "type", "source", "subject", "a.b", ""]) | st.text(),
            inner,
            max_size=2,
        )
        | st.fixed_dictionaries({"field": inner, "op": inner | st.sampled_from(["==", "in"]), "value": inner})
    ),
    max_leaves=20,
)
