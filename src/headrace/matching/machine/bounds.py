"""Where kernels may load and store: an address of an array and, in the checked mode, which array it is of.

With `HEADRACE_CHECKED_KERNELS=1` in the environment when this is imported, the upper bits of an address are the
number of its array, and stay with it through all arithmetic. Every load and store looks up where that array begins
and ends, and raises `OutOfBounds` for any byte beyond. Otherwise addresses are plain and nothing is looked up: the
instructions of the check aren't emitted.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import binding, ir

if TYPE_CHECKING:
    import numpy.typing as npt

CHECKED = os.environ.get("HEADRACE_CHECKED_KERNELS", "0") not in ("", "0")
"""Whether every load and store of a kernel is checked."""

_TAG = 48  # no address of a process has more bits
_TAGS = _REFUSED = 1 << 14  # twice an address must still be positive
_PLAIN = (1 << _TAG) - 1
_WORD = ir.IntType(64)


class OutOfBounds(IndexError):
    """A kernel loads or stores what isn't in the array that it was given: a fault of the kernel or of its caller."""

    def __init__(self) -> None:
        address, size = _ARRAYS.ends[_REFUSED].tolist()
        self.name, low, high, width = _ARRAYS.describe(address >> _TAG)
        self.index, self.size = ((address & _PLAIN) - low) // width, (high - low) // width
        super().__init__(
            f"{self.name}[{self.index}]: {size} bytes, and it has {self.size} elements of {width}"
        )


class _Arrays:
    """Numbers the arrays whose addresses kernels have, for as long as these live. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # Of number 0, an address that is of no array, nothing is allowed; in the last place is what was refused.
        self.ends = np.zeros((_TAGS + 1, 2), np.int64)
        self._free = list(range(_TAGS - 1, 0, -1))
        self._held: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._about: dict[int, tuple[str, int]] = {}

    def tagged(self, array: npt.NDArray[Any], name: str) -> int:
        start = _start(array)
        with self._lock:
            number, held = self._held.get(id(array), (0, None))
            if held is None or held() is not array:
                number, key = self._free.pop(), id(array)
                self._held[key] = number, weakref.ref(array, lambda _: self._forget(key, number))
                self._about[number] = (
                    name,
                    array.nbytes // max(1, len(array)) if array.ndim else array.itemsize,
                )
                self.ends[number] = start, start + array.nbytes
        return number << _TAG | start

    def _forget(self, key: int, number: int) -> None:
        with self._lock:
            if self._held.get(key, (0,))[0] == number:
                del self._held[key]
            self.ends[number] = 0
            self._free.append(number)

    def describe(self, number: int) -> tuple[str, int, int, int]:
        name, width = self._about.get(number, ("no array", 1))
        low, high = self.ends[number].tolist()
        return name, low, high, width


_ARRAYS = _Arrays()
_ENDS = "headrace_ends_of_arrays"
if CHECKED:
    binding.add_symbol(_ENDS, _ARRAYS.ends.ctypes.data)


def address_of(array: npt.NDArray[Any], name: str = "an array") -> int:
    """Return where an array begins. It must be contiguous, and outlive what is done there."""
    return _ARRAYS.tagged(array, name) if CHECKED else _start(array)


_word_at = ctypes.c_size_t.from_address
_HEAD = object.__basicsize__


def _start(array: npt.NDArray[Any]) -> int:
    """Read the first field of numpy's `PyArrayObject`: an event takes fifty, and `__array_interface__` 1 µs each."""
    return _word_at(id(array) + _HEAD).value


def plain(builder: Any, address: Any) -> Any:
    """Emit what makes an address one of the machine; nothing, unless it has the number of its array."""
    return builder.and_(address, _number(_PLAIN)) if CHECKED else address


def allowed(context: Any, builder: Any, address: Any, size: int) -> Any:
    """Emit the check of a load or store; return the address that the machine takes."""
    if not CHECKED:
        return address
    kind = ir.ArrayType(_WORD, 2 * (_TAGS + 1))
    ends = builder.module.globals.get(_ENDS) or ir.GlobalVariable(builder.module, kind, _ENDS)

    def end(number: Any, side: int) -> Any:
        place = builder.or_(builder.shl(number, _number(1)), _number(side))
        return builder.gep(ends, [_number(0), place])

    number = builder.lshr(address, _number(_TAG))
    there = plain(builder, address)
    low, high = (builder.load(end(number, side), typ=_WORD) for side in (0, 1))
    after = builder.add(there, _number(size))
    wrong = builder.or_(builder.icmp_unsigned("<", there, low), builder.icmp_unsigned(">", after, high))
    with builder.if_then(wrong, likely=False):
        for side, value in enumerate((address, _number(size))):
            builder.store(value, end(_number(_REFUSED), side))
        context.call_conv.return_user_exc(builder, OutOfBounds, ())
    return there


def _number(value: int) -> Any:
    return ir.Constant(_WORD, value)
