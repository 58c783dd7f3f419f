import itertools

import pytest

from headrace.filters.truth import UNKNOWN, conjunction, disjunction, negation

VALUES = (True, False, UNKNOWN)
ORDER = {False: 0, UNKNOWN: 1, True: 2}
pairs = pytest.mark.parametrize(("a", "b"), list(itertools.product(VALUES, VALUES)))


@pairs
def test_conjunction_is_the_lesser_and_disjunction_the_greater(a, b):
    assert conjunction([a, b]) is min(a, b, key=ORDER.__getitem__)
    assert disjunction([a, b]) is max(a, b, key=ORDER.__getitem__)


@pairs
def test_de_morgan(a, b):
    assert negation(conjunction([a, b])) is disjunction([negation(a), negation(b)])
    assert negation(disjunction([a, b])) is conjunction([negation(a), negation(b)])


def test_of_nothing():
    assert conjunction([]) is True
    assert disjunction([]) is False


def test_unknown_is_its_own_opposite():
    assert negation(UNKNOWN) is UNKNOWN
    assert negation(True) is False
    assert negation(False) is True


def test_unknown_has_no_truth_value():
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(UNKNOWN)
