"""The few machine operations that kernels need beside arithmetic: loads by address, bit counts, wide products.

Addresses are plain integers, so that no index is checked or wrapped: a kernel that calls these answers for
every byte it loads. Bytes are read in little-endian order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_F = TypeVar("_F", bound=Callable[..., Any])

WIDTH = 32
"""How many bytes `striking` looks at."""

_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)
_BLOCK = ir.VectorType(_BYTE, WIDTH)


def compiled(function: _F) -> _F:
    """Compile when first called, keep the result on disk where that is possible, and run without the GIL.

    The disk cache looks at the file of the outermost function alone: after a change to a function that a
    kernel calls, touch the kernel's file or delete `__pycache__`.
    """
    options = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
    try:
        made: _F = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that can be written
        made = njit(**options)(function)
    return made


def _operation(arity: int, result: types.Type, emit: Callable[..., Any]) -> Callable[..., Any]:
    """Make an intrinsic of 64-bit integers from a function that emits its instructions."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    def one(_typing: Any, _a: Any) -> Any:
        return result(types.int64), codegen

    def two(_typing: Any, _a: Any, _b: Any) -> Any:
        return result(types.uint64, types.uint64), codegen

    made: Callable[..., Any] = intrinsic(one if arity == 1 else two)
    return made


def _load(builder: Any, address: Any, kind: Any) -> Any:
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer()), typ=kind)
    loaded.align = 1
    return loaded


def _byte(builder: Any, address: Any) -> Any:
    return builder.zext(_load(builder, address, _BYTE), _WORD)


def _word(builder: Any, address: Any) -> Any:
    return _load(builder, address, _WORD)


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


def _high_product(builder: Any, a: Any, b: Any) -> Any:
    wide = ir.IntType(128)
    product = builder.mul(builder.zext(a, wide), builder.zext(b, wide))
    return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)


byte_at = _operation(1, types.int64, _byte)
"""The byte at an address."""

word_at = _operation(1, types.int64, _word)
"""The eight bytes from an address on."""

striking = _operation(1, types.int64, _striking)
"""A bit for each of `WIDTH` bytes that isn't plain in a string: quotes, backslashes, control, not ASCII."""

trailing_zeros = _operation(1, types.int64, _trailing_zeros)
"""The number of zero bits below the lowest one; the value must not be 0."""

leading_zeros = _operation(1, types.int64, _leading_zeros)
"""The number of zero bits above the highest one; the value must not be 0."""

high_product = _operation(2, types.uint64, _high_product)
"""The upper 64 bits of the product of two unsigned numbers."""
