"""The few machine operations that kernels need beside arithmetic: loads by address, bit counts, wide products.

Addresses are plain integers, so that no index is checked or wrapped: a kernel that calls these answers for
every byte it loads. Bytes are read in little-endian order.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_F = TypeVar("_F", bound=Callable[..., Any])

WIDTH = 32
"""How many bytes `striking` looks at."""

_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)
_BLOCK = ir.VectorType(_BYTE, WIDTH)


_njit: Any = partial(njit, nogil=True, boundscheck=False, error_model="numpy")
_part: Any = partial(_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled(function: _F) -> _F:
    """Compile what kernels call; it can't be called from Python."""
    # Numba hands the choice down from a caller to what it calls, and copies of everything take minutes to compile.
    made: _F = _part(forceinline=False)(function)
    return made


def inlined(function: _F) -> _F:
    """Compile what kernels call so often that a call would cost more than the work; it is copied to every caller."""
    made: _F = _part(forceinline=True)(function)
    return made


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile when first called, keep the result on disk where that is possible, and run without the GIL."""
    try:
        made: Callable[..., Any] = _njit(cache=True)(function)
    except RuntimeError:  # no folder can be written
        made = _njit()(function)
    return made


def _cache_folder() -> Path:
    """Name a folder after everything that kernels are made of.

    Numba looks at a kernel's own file alone, and would go on with one that calls what was changed elsewhere.
    """
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "headrace" / "kernels" / digest[:16]


if not getattr(config, "CACHE_DIR", ""):
    with suppress(OSError, RuntimeError):  # who has no home keeps nothing
        config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]


def _operation(emit: Callable[..., Any], *signature: types.Type) -> Callable[..., int]:
    """Make an intrinsic (result first in its signature) from a function that emits its instructions."""
    result, *taken = signature

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    def one(_typing: Any, _a: Any) -> Any:
        return result(*taken), codegen

    def two(_typing: Any, _a: Any, _b: Any) -> Any:
        return result(*taken), codegen

    made: Callable[..., int] = intrinsic(one if len(taken) == 1 else two)
    return made


def _load(builder: Any, address: Any, kind: Any) -> Any:
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer()), typ=kind)
    loaded.align = 1
    return loaded


def _byte(builder: Any, address: Any) -> Any:
    return builder.zext(_load(builder, address, _BYTE), _WORD)


def _word(builder: Any, address: Any) -> Any:
    return _load(builder, address, _WORD)


def _half(builder: Any, address: Any) -> Any:
    return builder.sext(_load(builder, address, ir.IntType(32)), _WORD)


def _store(builder: Any, address: Any, value: Any, kind: Any) -> Any:
    narrow = value if kind == _WORD else builder.trunc(value, kind)
    builder.store(narrow, builder.inttoptr(address, kind.as_pointer()), align=1)
    return value


def _striking(builder: Any, address: Any) -> Any:
    block = _load(builder, address, _BLOCK)

    def all_of(byte: int) -> Any:
        return ir.Constant(_BLOCK, [byte] * WIDTH)

    quotes = builder.icmp_unsigned("==", block, all_of(0x22))
    backslashes = builder.icmp_unsigned("==", block, all_of(0x5C))
    others = builder.icmp_signed("<", block, all_of(0x20))  # bytes from 0x80 on are negative
    found = builder.or_(builder.or_(quotes, backslashes), others)
    return builder.zext(builder.bitcast(found, ir.IntType(WIDTH)), _WORD)


def _trailing_zeros(builder: Any, value: Any) -> Any:
    return builder.cttz(value, ir.Constant(ir.IntType(1), 1))


def _leading_zeros(builder: Any, value: Any) -> Any:
    return builder.ctlz(value, ir.Constant(ir.IntType(1), 1))


def _prefetch(builder: Any, address: Any) -> Any:
    number = ir.IntType(32)
    pointer = builder.inttoptr(address, _BYTE.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), number, number, number])
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, kind, "llvm.prefetch.p0i8"
    )
    builder.call(function, [pointer, *(ir.Constant(number, each) for each in (0, 3, 1))])
    return address


def _double_bits(builder: Any, value: Any) -> Any:
    return builder.bitcast(value, _WORD)


def _high_product(builder: Any, a: Any, b: Any) -> Any:
    wide = ir.IntType(128)
    product = builder.mul(builder.zext(a, wide), builder.zext(b, wide))
    return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)


_INT, _UNSIGNED = types.int64, types.uint64

byte_at = _operation(_byte, _INT, _INT)
"""The byte at an address."""

half_at = _operation(_half, _INT, _INT)
"""The four bytes from an address on, as a signed number."""

word_at = _operation(_word, _INT, _INT)
"""The eight bytes from an address on."""

put_byte = _operation(partial(_store, kind=_BYTE), _INT, _INT, _INT)
"""Store the lowest byte of a value at an address."""

put_half = _operation(partial(_store, kind=ir.IntType(32)), _INT, _INT, _INT)
"""Store the lower four bytes of a value from an address on."""

put_word = _operation(partial(_store, kind=_WORD), _INT, _INT, _INT)
"""Store a value in the eight bytes from an address on."""

striking = _operation(_striking, _INT, _INT)
"""A bit for each of `WIDTH` bytes that isn't plain in a string: quotes, backslashes, control, not ASCII."""

trailing_zeros = _operation(_trailing_zeros, _INT, _INT)
"""The number of zero bits below the lowest one; the value must not be 0."""

leading_zeros = _operation(_leading_zeros, _INT, _INT)
"""The number of zero bits above the highest one; the value must not be 0."""

high_product: Callable[..., Any] = _operation(_high_product, _UNSIGNED, _UNSIGNED, _UNSIGNED)
"""The upper 64 bits of the product of two unsigned numbers."""

double_bits = _operation(_double_bits, _INT, types.float64)
"""The bits of a double."""

prefetch = _operation(_prefetch, _INT, _INT)
"""Ask for the cache line at an address; it need not be one that can be read."""
