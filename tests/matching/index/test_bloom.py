"""The Bloom filter's law: what was inserted passes, and of the rest no larger share than was asked for."""

import math

import numba
import numpy as np
import pytest

from headrace.matching.index import bloom
from headrace.matching.index.kernels.hashes import hash_of, hash_text, hash_word
from headrace.matching.machine import address_of, longs
from headrace.matching.settings import BloomSettings

SEED = np.uint64(0x5EED5EED5EED5EED)
ASKED = 400_000


@numba.njit
def insert_all(words, blocks, hashes, bits):
    for each in hashes:
        bloom.insert(longs(words), 0, blocks, each, bits)


@numba.njit
def passing(words, blocks, hashes, bits):
    count = 0
    for each in hashes:
        count += bloom.may_contain(longs(words), 0, blocks, each, bits)
    return count


@numba.njit
def hash_texts(text, ends, seed, hashes):
    for each in range(len(hashes)):
        hashes[each] = hash_text(text + ends[each], ends[each + 1] - ends[each], seed)


@numba.njit
def hash_numbers(numbers, seed, hashes):
    for each in range(len(hashes)):
        hashes[each] = hash_word(numbers[each], seed)


def of_texts(texts):
    text = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.concatenate(([0], np.cumsum([len(each) for each in texts]))).astype(np.int64)
    hashes = np.empty(len(texts), np.uint64)
    hash_texts(address_of(text), ends, SEED, hashes)
    return hashes


def of_numbers(numbers):
    hashes = np.empty(len(numbers), np.uint64)
    hash_numbers(numbers.view(np.uint64), SEED, hashes)
    return hashes


def measured(inserted, others, fp_rate, capacity=1):
    settings = BloomSettings(fp_rate=fp_rate, initial_capacity=capacity)
    bits = bloom.bits_per_key(settings)
    blocks = int(bloom.blocks_for(np.array([len(inserted)]), settings)[0])
    words = bloom.empty_blocks(blocks)
    insert_all(address_of(words), blocks, inserted, bits)
    assert passing(address_of(words), blocks, inserted, bits) == len(inserted)
    return passing(address_of(words), blocks, others, bits) / len(others)


def assert_at_most(rate, fp_rate):
    """Leave four deviations to chance."""
    assert rate < fp_rate + 4 * math.sqrt(fp_rate / ASKED)


@pytest.mark.parametrize("fp_rate", [0.5, 0.05, 0.01, 0.001, 0.0001])
@pytest.mark.parametrize("keys", [1_000, 100_000, 1_000_000])
def test_rate_of_random_keys(keys, fp_rate):
    chance = np.random.default_rng(keys)
    hashes = chance.integers(0, 2**64, keys + ASKED, np.uint64)
    rate = measured(hashes[:keys], hashes[keys:], fp_rate)
    assert_at_most(rate, fp_rate)
    assert rate > fp_rate / 2  # no more room than it takes


SIMILAR = {
    "digits": lambda number: b"%d" % number,
    "common prefix": lambda number: b"/assessor/district/%08d" % number,
    "common suffix": lambda number: b"%08d/assessor/district" % number,
    "common middle": lambda number: b"%04d/assessor/%04d" % divmod(number, 10_000),
    "hexadecimal": lambda number: b"%016x" % (number * 0x10001),
    "not ASCII": lambda number: f"é{number}ü".encode() * 3,
    "bits at the ends of words": lambda number: (number << 43 & 2**64 - 1).to_bytes(8, "little") * 2,
}


@pytest.mark.parametrize("fp_rate", [0.01, 0.001])
@pytest.mark.parametrize("write", SIMILAR.values(), ids=SIMILAR)
def test_rate_of_similar_texts(write, fp_rate):
    hashes = of_texts([write(number) for number in range(ASKED + 20_000)])
    assert_at_most(measured(hashes[:20_000], hashes[20_000:], fp_rate), fp_rate)


@pytest.mark.parametrize("fp_rate", [0.01, 0.001])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("step", [1, 2, 256, 2**20])
def test_rate_of_consecutive_numbers(dtype, step, fp_rate):
    hashes = of_numbers(np.arange(0, (ASKED + 20_000) * step, step).astype(dtype))
    assert_at_most(measured(hashes[:20_000], hashes[20_000:], fp_rate), fp_rate)


def test_no_change_of_one_word_cancels_another():
    """The upper bits of a word, which a single product moves nowhere, must not make equal hashes."""
    chance = np.random.default_rng(5)
    for seed in chance.integers(0, 2**64, 20, np.uint64).tolist():
        text = chance.integers(0, 256, 16, np.uint8)
        base = int.from_bytes(text.tobytes(), "little")
        changes = [
            1 << high ^ second
            for high in range(32, 64)
            for second in (0, 1 << 127 ^ 1 << 95, 1 << high + 64, 1 << high + 64 ^ 1 << high + 32)
        ]
        hashes = {hash_of((base ^ change).to_bytes(16, "little"), seed) for change in changes}
        assert len(hashes) == len(set(changes))


def test_a_smaller_rate_takes_more_room_than_a_filter_without_blocks_but_not_much():
    for fp_rate in (0.2, 0.05, 0.01, 0.001):
        ideal = -math.log(fp_rate) / math.log(2) ** 2
        shape = bloom.shape_for(fp_rate)
        assert ideal < bloom.BLOCK_BITS / shape.keys_per_block < 1.15 * ideal
        assert abs(shape.bits - ideal * math.log(2)) <= 3


def test_there_is_room_for_the_initial_capacity():
    settings = BloomSettings(initial_capacity=5_000)
    few, many = bloom.blocks_for(np.array([3, 50_000]), settings)
    assert few == bloom.blocks_for(np.array([5_000]), settings)[0]
    assert many == pytest.approx(10 * few, rel=0.02)


def test_no_collection_is_without_a_block():
    assert bloom.blocks_for(np.array([0]), BloomSettings(initial_capacity=0)).tolist() == [1]


def test_at_a_rate_of_one_there_is_no_filter():
    settings = BloomSettings(fp_rate=bloom.OFF)
    assert bloom.bits_per_key(settings) == 0
    assert bloom.blocks_for(np.array([0, 1_000_000]), settings).tolist() == [1, 1]
    assert measured(np.arange(10, dtype=np.uint64), np.arange(10, 20, dtype=np.uint64), bloom.OFF) == 1


def test_blocks_begin_at_cache_lines():
    for count in (1, 3, 1_000, 100_000):
        words = bloom.empty_blocks(count)
        assert len(words) == 8 * count
        assert address_of(words) % 64 == 0
        assert not words.any()
