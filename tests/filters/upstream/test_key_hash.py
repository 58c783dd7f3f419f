"""The hash in plain Python is that of the kernels, number by number."""

import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.filters.upstream import key_hash
from headrace.matching.index import tables
from headrace.matching.index.build import grams
from headrace.matching.index.kernels import hashes as hashing
from headrace.matching.index.kernels.keys import tagged
from headrace.matching.rules import checks

words = st.integers(0, 2**64 - 1)


@numba.njit
def kernel_hash_of_number(number, tag, seed):
    return hashing.hash_word(tagged(number, tag), seed)


@numba.njit
def kernel_mix(value):
    return hashing.mix(value)


@given(words)
def test_mix(value):
    assert key_hash.mix(value) == kernel_mix(np.uint64(value))


@given(st.binary(max_size=70), words)
def test_texts(text, seed):
    assert key_hash.hash_text(text, seed) == hashing.hash_of(text, seed)


TAGS = {
    checks.NUMBER_KEY: key_hash.NUMBER_TAG,
    checks.CONSTANT_KEY: key_hash.CONSTANT_TAG,
    **{-(grams.GRAM_TAG + size): key_hash.GRAM_TAG - size for size in range(1, grams.LONGEST + 1)},
}


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(list(TAGS)), words)
def test_numbers(number, tag, seed):
    expected = kernel_hash_of_number(number, tag, np.uint64(seed))
    assert key_hash.hash_number(number, TAGS[tag], seed) == expected


def test_spaces():
    names = ["EQUAL_SPACE", "START_SPACE", "END_SPACE", "ELEMENT_SPACE", "GRAM_SPACE"]
    assert [getattr(key_hash, name) for name in names] == [getattr(tables, name) for name in names]


def test_a_known_text():
    """What another language's reader can compare itself with."""
    assert key_hash.hash_text(b"", 0) == 0
    assert f"{key_hash.hash_text(b'order.created', 1):016x}" == "d6f25d85c261ffe4"
