from hypothesis import given
from tests.filters.strategies import expressions, odd_events

from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.expression import And, Not, Or, clauses_of
from headrace.filters.ir.operands import attribute
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.variables import variables_of

A, B, C, D = (Has(attribute(name)) for name in "abcd")


def test_merges_like_into_like():
    assert flatten(And((A, And((B, And((C, D))))))) == And((A, B, C, D))
    assert flatten(Or((Or((A, B)), Or((C, D))))) == Or((A, B, C, D))
    assert flatten(Not(And((A, And((B, C)))))) == Not(And((A, B, C)))


def test_leaves_the_other_connective_alone():
    assert flatten(And((A, Or((B, And((C, D))))))) == And((A, Or((B, And((C, D))))))


def test_drops_a_double_negation():
    assert flatten(Not(Not(A))) == A
    assert flatten(Not(Not(Not(And((A, Not(Not(B)))))))) == Not(And((A, B)))
    assert flatten(Not(And((Not(A),)))) == A


def test_drops_a_connective_around_one_part():
    assert flatten(And((Or((A,)),))) == A
    assert flatten(And((Or((And((A, B)),)), C))) == And((A, B, C))


@given(expressions, odd_events)
def test_keeps_the_three_valued_meaning(expression, event):
    variables = variables_of(event)
    assert evaluate(flatten(expression), variables) is evaluate(expression, variables)


@given(expressions)
def test_is_idempotent_and_keeps_every_atom(expression):
    flat = flatten(expression)
    assert flatten(flat) == flat
    assert clauses_of(flat) == clauses_of(expression)
