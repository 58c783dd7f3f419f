"""The hash reads a text's own bytes, wherever in memory they lie, and whatever lies behind them."""

import ctypes
import mmap

import numba
import numpy as np
import pytest

from headrace.filters.upstream import key_hash
from headrace.matching.index.kernels import hashes as hashing
from headrace.matching.machine import address_of

PAGE = mmap.PAGESIZE


@numba.njit
def hash_at(text, length, seed):
    return hashing.hash_text(text, length, np.uint64(seed))


@pytest.fixture
def page():
    """A page of memory; whoever reads behind it dies."""
    room = mmap.mmap(-1, 2 * PAGE)
    held = (ctypes.c_char * (2 * PAGE)).from_buffer(room)
    start = ctypes.addressof(held)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(start + PAGE), ctypes.c_size_t(PAGE), 0) == 0
    ctypes.memset(start, 0xFF, PAGE)
    yield np.frombuffer(room, np.uint8)[:PAGE]
    assert (
        libc.mprotect(ctypes.c_void_p(start + PAGE), ctypes.c_size_t(PAGE), mmap.PROT_READ | mmap.PROT_WRITE)
        == 0
    )
    del held


@pytest.mark.parametrize("length", range(20))
def test_nothing_is_read_behind_a_page(page, length):
    text = bytes(range(65, 65 + length))
    for behind in range(12):
        start = PAGE - behind - length
        page[start : start + length] = list(text)
        assert hash_at(address_of(page) + start, length, 7) == key_hash.hash_text(text, 7)
        page[start:] = 0xFF
