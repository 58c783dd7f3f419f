"""In the checked mode a load or store beyond its array is refused; otherwise nothing of the check is left."""

import os
import subprocess
import sys

import numpy as np
import pytest

from headrace.matching.machine import (
    Byte,
    Long,
    Many,
    OutOfBounds,
    Record,
    Short,
    address_of,
    addresses,
    byte_at,
    kernel,
    put_word,
    striking,
)
from headrace.matching.machine.bounds import CHECKED

checked = pytest.mark.skipif(not CHECKED, reason="kernels are as in production")


class Post(Record):
    column: Short
    who: Short


class Arrays(Record):
    posts: Many[Post]
    numbers: Many[Long]
    text: Many[Byte]


@kernel
def who(arrays: int, place: int) -> int:
    return Arrays(arrays).posts[place].who


@kernel
def put(arrays: int, place: int, value: int) -> None:
    Arrays(arrays).numbers[place] = value


@kernel
def rest(arrays: int, first: int, place: int) -> int:
    return (Arrays(arrays).text + first)[place]


@kernel
def byte(address: int) -> int:
    return byte_at(address)


@kernel
def block(address: int) -> int:
    return striking(address)


@kernel
def put_at(address: int, value: int) -> None:
    put_word(address, value)


POSTS = np.array([[1, 10], [2, 20], [3, 30]], np.int32)


@pytest.fixture
def arrays():
    held = POSTS.copy(), np.zeros(4, np.int64), np.frombuffer(b"abcde", np.uint8)
    made = addresses(Arrays, held)
    yield made
    del held


def test_what_lies_within_is_loaded_and_stored(arrays):
    there = address_of(arrays)
    assert [who(there, place) for place in range(3)] == [10, 20, 30]
    put(there, 3, -7)
    assert rest(there, 2, 2) == ord("e")


@checked
@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda there: who(there, 3), "Arrays.posts[3]: 4 bytes, and it has 3 elements of 8"),
        (lambda there: who(there, -1), "Arrays.posts[-1]: 4 bytes, and it has 3 elements of 8"),
        (lambda there: put(there, 4, 1), "Arrays.numbers[4]: 8 bytes, and it has 4 elements of 8"),
        (lambda there: rest(there, 3, 2), "Arrays.text[5]: 1 bytes, and it has 5 elements of 1"),
    ],
)
def test_what_lies_beyond_is_refused_by_name_place_and_size(arrays, ask, said):
    with pytest.raises(OutOfBounds) as refused:
        ask(address_of(arrays))
    assert str(refused.value) == said


@checked
def test_wide_loads_have_to_lie_within_altogether():
    text = np.zeros(40, np.uint8)
    there = address_of(text, "text")
    assert block(there + 8) == 2**32 - 1
    with pytest.raises(OutOfBounds, match=r"text\[9\]: 32 bytes, and it has 40 elements of 1"):
        block(there + 9)
    numbers = np.zeros(1, np.int64)
    put_at(address_of(numbers), 5)
    assert numbers.tolist() == [5]
    with pytest.raises(OutOfBounds):
        put_at(address_of(numbers) + 1, 5)


@checked
def test_an_address_that_no_array_has_is_refused():
    number = np.zeros(1, np.int64)
    with pytest.raises(OutOfBounds, match="no array"):
        byte(number.ctypes.data)
    there = address_of(number)
    assert byte(there) == 0
    del number
    with pytest.raises(OutOfBounds):
        byte(there)


def test_an_address_is_where_numpy_says():
    plain, part, text = np.zeros(3), np.zeros((4, 2), np.int32)[1:], np.frombuffer(b"abc", np.uint8)
    for array in (plain, part, text, np.zeros((), Post.dtype), np.empty(0)):
        assert address_of(array) & (1 << 48) - 1 == array.__array_interface__["data"][0]


@checked
def test_numbers_of_arrays_that_are_gone_are_given_again():
    for _ in range(40_000):
        address_of(np.zeros(1, np.int64))


@checked
def test_arrays_of_another_width_are_refused():
    with pytest.raises(TypeError, match="numbers"):
        addresses(Arrays, (POSTS, np.zeros((2, 3), "V3"), np.zeros(1, np.uint8)))


PROGRAM = """
from numba import njit, types
from headrace.matching.machine import CHECKED, word_at
load = njit(types.int64(types.int64), no_cpython_wrapper=True, no_cfunc_wrapper=True)(lambda address: word_at(address))
code = load.inspect_llvm(load.signatures[0])
body = code[code.index("define"):]
body = body[:body.index("}")].splitlines()
print(int(CHECKED), sum(" load " in line for line in body), sum("icmp" in line or " br " in line for line in body))
print(int("headrace_ends_of_arrays" in code))
"""


@pytest.mark.parametrize("mode", ["0", "1"])
def test_without_checks_a_load_is_one_load_and_no_branch(mode):
    environment = {**os.environ, "HEADRACE_CHECKED_KERNELS": mode}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    is_checked, loads, branches, looks_up = map(int, run.stdout.split())
    assert is_checked == looks_up == int(mode)
    if mode == "0":
        assert (loads, branches) == (1, 0)
    else:
        assert loads == 3
        assert branches > 0
