"""Generators of CESQL trees and of attributes that meet often: few names, few and similar values."""

from hypothesis import strategies as st

from headrace.filters.cesql.functions import FUNCTIONS
from headrace.filters.cesql.syntax import (
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Exists,
    In,
    Integer,
    Like,
    Logic,
    Minus,
    Not,
    String,
)
from headrace.filters.cesql.text.writer import write_string

NAMES = ("type", "source", "subject", "x", "y", "1st", "null")


def has_literal(text):
    try:
        write_string(text)
    except ValueError:
        return False
    return True


# Without NUL: CloudEvents forbids it, and Google's Python binding of CEL cuts the strings it is given there.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
integer_texts = (
    "1",
    "+1",
    "-1",
    "007",
    "42",
    "2147483647",
    "2147483648",
    "-2147483648",
    "99999999999",
    " 1",
    "1\n",
)
boolean_texts = ("true", "TRUE", "False", "fal\u017fe", "true\n")
other_texts = ("", "a", "ab", "aab", "1.0", "é", "a%b", "a_b", "a\\b", "a\nb", '"', "'")
words = st.sampled_from(integer_texts + boolean_texts + other_texts)
texts = words | st.text("ab%_.", max_size=4) | st.text(characters, max_size=4)
patterns = (st.text("ab%_1", max_size=5) | st.text("a%_\\.*[$^", max_size=6) | texts).filter(has_literal)
int32s = st.integers(-3, 3) | st.sampled_from([42, 2**31 - 1, -(2**31)]) | st.integers(-(2**31), 2**31 - 1)

literals = texts.filter(has_literal).map(String) | int32s.map(Integer) | st.booleans().map(Boolean)
names = st.sampled_from(NAMES)
leaves = names.map(Attribute) | literals | names.map(Exists)


def logic(operator, operands):
    first, *others = operands
    flat = first.operands if isinstance(first, Logic) and first.operator == operator else (first,)
    return Logic(operator, (*flat, *others))


def calls(inner, name, function):
    most = 3 if function.separate is not None else max(function.arities)
    least = 1 if function.separate is not None else min(function.arities)
    return st.builds(Call, st.just(name), st.lists(inner, min_size=least, max_size=most).map(tuple))


def branches(inner):
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        inner.map(Not),
        inner.map(Minus),
        st.builds(Like, inner, patterns),
        st.builds(In, inner, several),
        st.builds(In, names.map(Attribute), st.lists(literals, min_size=1, max_size=3).map(tuple)),
        st.builds(Arithmetic, inner, st.sampled_from("*/%+-"), inner),
        st.builds(Comparison, inner, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), inner),
        st.builds(Comparison, names.map(Attribute), st.sampled_from(["=", "!=", "<", ">="]), literals),
        st.builds(logic, st.sampled_from(["AND", "OR", "XOR"]), st.lists(inner, min_size=2, max_size=3)),
        st.one_of([calls(inner, name, function) for name, function in FUNCTIONS.items()]),
    )


nodes = st.recursive(leaves, branches, max_leaves=8)

values = texts | int32s | st.booleans()
odd_values = (
    values
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.sampled_from([1.0, 0.0])
    | st.lists(texts, max_size=2)
    | st.dictionaries(texts, texts, max_size=2)
)


@st.composite
def attributes(draw, extension_values=odd_values):
    required = draw(st.fixed_dictionaries(dict.fromkeys(("specversion", "id", "source", "type"), texts)))
    optional = draw(st.dictionaries(st.just("subject"), texts))
    extensions = draw(st.dictionaries(st.sampled_from(["x", "y", "1st", "null"]), extension_values))
    return required | optional | extensions
