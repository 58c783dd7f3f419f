"""Numbers in texts, read as Google's evaluator reads them."""

import math

from cel_expr_python import cel
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import examples

from headrace.filters.values.conversions import to_double, to_int
from headrace.filters.values.faults import Fault

ENVIRONMENT = cel.NewEnv(variables={"x": cel.Type.DYN})
like_numbers = (
    st.text("0123456789+-.eExXpPaAfF_ \t", max_size=8)
    | st.from_regex(r"\s?[+-]?(?i:inf|infinity|nan|nan\([a-z0-9_]{0,3}\))\s?", fullmatch=True)
    | st.from_regex(r"[+-]?0[xX][0-9a-fA-F]{0,3}\.?[0-9a-f]{0,2}([pP][+-]?[0-9]{0,4})?", fullmatch=True)
    | st.integers().map(str)
    | st.floats().map(repr)
)


def google(function, text):
    result = ENVIRONMENT.compile(f"{function}(string(x))").eval(data={"x": text})
    return None if not isinstance(result.value(), int | float) else result.value()


def ours(convert, text):
    try:
        return convert(text)
    except Fault:
        return None


@examples(150)
@given(like_numbers.filter(lambda text: "\0" not in text))
@example("+ 1")
@example("nan(")
@example("nan()")
@example("-NaN(a_1)")
@example("0x")
@example("0x1p99999")
@example("-0x1p99999")
@example("\v1\f")
@example("\x1c1")
@example("٣")
def test_texts_are_read_as_google_reads_them(text):
    assert ours(to_int, text) == google("int", text)
    mine, theirs = ours(to_double, text), google("double", text)
    assert mine == theirs or (
        mine is not None and theirs is not None and math.isnan(mine) and math.isnan(theirs)
    )
