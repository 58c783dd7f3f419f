"""The limits of a tree, to the character."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.filters.cel_texts import cel_filters
from tests.filters.every_dialect import every_filter
from tests.filters.strategies import expressions

from headrace.errors import FilterError
from headrace.filters import compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.bounds.limits import Limits
from headrace.filters.bounds.sizes import check_size
from headrace.filters.ir.atoms import Comparison, Has, Operator, StartsWith
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text, attribute

LIMITS = Limits(atoms=100_000, macros=1000, body=100_000)


def longest_accepted(expression, length):
    """Require that the tree is taken where the limit is the length of its text, and not where it is one less."""
    check_size(expression, replace(LIMITS, expression=length))
    with pytest.raises(FilterError) as refusal:
        check_size(expression, replace(LIMITS, expression=length - 1))
    assert refusal.value.limit == "expression"


@given(expressions)
def test_the_length_of_the_text_decides(expression):
    longest_accepted(expression, len(write_cel(expression)))


@given(cel_filters)
def test_so_it_does_for_terms(filter_):
    longest_accepted(filter_.expression, len(filter_.cel))


@given(every_filter)
def test_and_for_every_dialect(spec):
    compiled = compile_filter(spec)
    longest_accepted(compiled.expression, len(compiled.cel))


@pytest.mark.parametrize(
    "atom",
    [
        Has(Path(("data", "\x00" * 1000, "\x00" * 1000))),
        StartsWith(Text(attribute("a")), "\x01" * 1000),
        Comparison(Path(("data", '"' * 1000)), Operator.EQUAL, Literal(b"\x00" * 1000)),
        Comparison(Path(("data",)), Operator.EQUAL, Literal(-1.7976931348623157e308)),
        Comparison(Path(("data", "", "", "", "")), Operator.EQUAL, Literal(value=None)),
    ],
)
def test_escapes_count(atom):
    longest_accepted(atom, len(write_cel(atom)))
