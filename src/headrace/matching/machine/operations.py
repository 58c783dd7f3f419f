"""The few machine operations that kernels need beside arithmetic: loads by address, bit counts, wide products.

Addresses are integers, so that no index is checked or wrapped, except in the checked mode (`bounds`): a kernel that
calls these answers for every byte it loads. Bytes are read in little-endian order.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from headrace.matching.machine.bounds import allowed, plain

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 32
"""How many bytes `striking` looks at."""

_BYTE = ir.IntType(8)
_HALF = ir.IntType(32)
_WORD = ir.IntType(64)
_BLOCK = ir.VectorType(_BYTE, WIDTH)


def _operation(emit: Callable[..., Any], *signature: types.Type) -> Callable[..., int]:
    """Make an intrinsic (result first in its signature) from a function that emits its instructions."""
    result, *taken = signature

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return emit(context, builder, *arguments)

    def one(_typing: Any, _a: Any) -> Any:
        return result(*taken), codegen

    def two(_typing: Any, _a: Any, _b: Any) -> Any:
        return result(*taken), codegen

    made: Callable[..., int] = intrinsic(one if len(taken) == 1 else two)
    return made


def load(context: Any, builder: Any, address: Any, kind: Any = _WORD) -> Any:
    """Emit a load of any kind of value."""
    size = kind.count if kind == _BLOCK else kind.width // 8
    there = allowed(context, builder, address, size)
    loaded = builder.load(builder.inttoptr(there, kind.as_pointer()), typ=kind)
    loaded.align = 1
    return loaded


def load_byte(context: Any, builder: Any, address: Any) -> Any:
    """Emit a load of a byte."""
    return builder.zext(load(context, builder, address, _BYTE), _WORD)


def load_half(context: Any, builder: Any, address: Any) -> Any:
    """Emit a load of a signed number of 32 bits."""
    return builder.sext(load(context, builder, address, _HALF), _WORD)


def store(context: Any, builder: Any, address: Any, value: Any, kind: Any = _WORD) -> Any:
    """Emit a store of the lowest bits of a value."""
    there = allowed(context, builder, address, kind.width // 8)
    narrow = value if kind == _WORD else builder.trunc(value, kind)
    builder.store(narrow, builder.inttoptr(there, kind.as_pointer()), align=1)
    return value


def _striking(context: Any, builder: Any, address: Any) -> Any:
    block = load(context, builder, address, _BLOCK)

    def all_of(byte: int) -> Any:
        return ir.Constant(_BLOCK, [byte] * WIDTH)

    quotes = builder.icmp_unsigned("==", block, all_of(0x22))
    backslashes = builder.icmp_unsigned("==", block, all_of(0x5C))
    others = builder.icmp_signed("<", block, all_of(0x20))  # bytes from 0x80 on are negative
    found = builder.or_(builder.or_(quotes, backslashes), others)
    return builder.zext(builder.bitcast(found, ir.IntType(WIDTH)), _WORD)


def _trailing_zeros(_context: Any, builder: Any, value: Any) -> Any:
    return builder.cttz(value, ir.Constant(ir.IntType(1), 1))


def _leading_zeros(_context: Any, builder: Any, value: Any) -> Any:
    return builder.ctlz(value, ir.Constant(ir.IntType(1), 1))


def _prefetch(_context: Any, builder: Any, address: Any) -> Any:
    number = ir.IntType(32)
    pointer = builder.inttoptr(plain(builder, address), _BYTE.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), number, number, number])
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, kind, "llvm.prefetch.p0i8"
    )
    builder.call(function, [pointer, *(ir.Constant(number, each) for each in (0, 3, 1))])
    return address


def _same(_context: Any, _builder: Any, value: Any) -> Any:
    return value


def _double_bits(_context: Any, builder: Any, value: Any) -> Any:
    return builder.bitcast(value, _WORD)


def _high_product(_context: Any, builder: Any, a: Any, b: Any) -> Any:
    wide = ir.IntType(128)
    product = builder.mul(builder.zext(a, wide), builder.zext(b, wide))
    return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)


_INT, _UNSIGNED = types.int64, types.uint64

byte_at = _operation(load_byte, _INT, _INT)
"""The byte at an address."""

half_at = _operation(load_half, _INT, _INT)
"""The four bytes from an address on, as a signed number."""

word_at = _operation(load, _INT, _INT)
"""The eight bytes from an address on."""

put_byte = _operation(partial(store, kind=_BYTE), _INT, _INT, _INT)
"""Store the lowest byte of a value at an address."""

put_half = _operation(partial(store, kind=_HALF), _INT, _INT, _INT)
"""Store the lower four bytes of a value from an address on."""

put_word = _operation(store, _INT, _INT, _INT)
"""Store a value in the eight bytes from an address on."""

striking = _operation(_striking, _INT, _INT)
"""A bit for each of `WIDTH` bytes that isn't plain in a string: quotes, backslashes, control, not ASCII."""

trailing_zeros = _operation(_trailing_zeros, _INT, _INT)
"""The number of zero bits below the lowest one; the value must not be 0."""

leading_zeros = _operation(_leading_zeros, _INT, _INT)
"""The number of zero bits above the highest one; the value must not be 0."""

high_product: Callable[..., Any] = _operation(_high_product, _UNSIGNED, _UNSIGNED, _UNSIGNED)
"""The upper 64 bits of the product of two unsigned numbers."""

signed = _operation(_same, _INT, _UNSIGNED)
"""The bits of an unsigned number."""

double_bits = _operation(_double_bits, _INT, types.float64)
"""The bits of a double."""

prefetch = _operation(_prefetch, _INT, _INT)
"""Ask for the cache line at an address; it need not be one that can be read."""
