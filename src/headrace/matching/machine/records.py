"""Structures in memory that kernels read and write by name: `post.column`, `tables.posts[place]`, `counts.found += 1`.

A `Record` is the address of fields that lie one after the other, `Many` that of values or records that do. Both are
one integer in a kernel, and no more than a name for what is loaded: Python never makes one. What Python holds are
arrays, of the record's `dtype` or, for a record of addresses, what `addresses` returns.
"""

from __future__ import annotations

import operator
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import imputils, typing
from numba.core.datamodel import models
from numba.core.typing import templates

from headrace.matching.machine.bounds import CHECKED, address_of
from headrace.matching.machine.operations import load, load_byte, load_half, store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

_X = TypeVar("_X")
_extending: Any = extending
_imputils: Any = imputils
_templates: Any = templates
_signature: Any = typing.templates.signature

Byte = Annotated[int, "u1"]
"""A byte."""

Short = Annotated[int, "<i4"]
"""A signed number of 32 bits."""

Long = Annotated[int, "<i8"]
"""A signed number of 64 bits."""

Address = Annotated[int, "<i8"]
"""Where something begins whose extent isn't part of its type, such as a text."""


class Many(Generic[_X]):
    """The address of values that follow one another; how many there are is known elsewhere."""

    def __getitem__(self, place: int) -> _X: ...  # type: ignore[empty-body]
    def __setitem__(self, place: int, value: _X) -> None: ...
    def __add__(self, count: int) -> Many[_X]: ...  # type: ignore[empty-body]


class Record:
    """The address of fields, which are the class's annotations: numbers, `Many`, other addresses."""

    dtype: ClassVar[np.dtype[Any]]

    def __init__(self, address: int) -> None:
        """Take what lies at an address for such a record."""

    def __init_subclass__(cls, size: int = 0) -> None:
        """Lay the fields out, in so many bytes if they take less, and let kernels know the type."""
        hints = get_type_hints(cls, include_extras=True)
        fields = {name: _type_of(hints[name]) for name in cls.__annotations__}
        plain = np.dtype([(name, _width(each)) for name, each in fields.items()])
        padding = max(0, size - plain.itemsize)
        cls.dtype = np.dtype([*plain.descr, ("", f"V{padding}")]) if padding else plain
        made = RecordType(cls, fields)
        _TYPES[cls] = made
        _extending.type_callable(cls)(lambda _context: lambda _address: made)
        _extending.lower_builtin(cls, types.Integer)(_take)


class RecordType(types.Type):
    """A record, to numba."""

    def __init__(self, record: type[Record], fields: dict[str, types.Type]) -> None:
        self.record, self.fields = record, fields
        laid_out: Any = record.dtype.fields
        self.offsets: dict[str, int] = {name: laid_out[name][1] for name in fields}
        super().__init__(name=f"{record.__module__}.{record.__qualname__}")


class ManyType(types.Type):
    """`Many`, to numba."""

    def __init__(self, element: types.Type) -> None:
        self.element = element
        super().__init__(name=f"Many({element})")


_TYPES: dict[type, RecordType] = {}
_NUMBERS: dict[str, types.Type] = {"u1": types.uint8, "<i4": types.int32, "<i8": types.int64}


def _type_of(hint: Any) -> types.Type:
    if get_origin(hint) is Many:
        return ManyType(_type_of(get_args(hint)[0]))
    if hint in _TYPES:
        return _TYPES[hint]
    return _NUMBERS[hint.__metadata__[0]]


def _width(kind: types.Type) -> str:
    return {types.uint8: "u1", types.int32: "<i4"}.get(kind, "<i8")


def _size(kind: types.Type) -> int:
    return (
        int(kind.record.dtype.itemsize) if isinstance(kind, RecordType) else np.dtype(_width(kind)).itemsize
    )


def _seen(kind: types.Type) -> types.Type:
    """Return the type as which a kernel sees a value that it loads: all numbers have 64 bits."""
    return types.int64 if kind in (types.uint8, types.int32) else kind


def addresses(record: type[Record], arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return a record of the addresses of arrays, in the order of its fields. They must outlive every use of it."""
    if not CHECKED:
        return np.array([address_of(each) for each in arrays], np.int64)
    fields = _TYPES[record].fields
    for (name, kind), array in zip(fields.items(), arrays, strict=True):
        if isinstance(kind, ManyType) and _size(kind.element) % array.itemsize:
            raise TypeError(f"{record.__name__}.{name}: elements of {array.itemsize} bytes")
    named = zip(arrays, fields, strict=True)
    return np.array([address_of(each, f"{record.__name__}.{name}") for each, name in named], np.int64)


class _AddressModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, ir.IntType(64))  # type: ignore[no-untyped-call]


_extending.register_model(RecordType)(_AddressModel)
_extending.register_model(ManyType)(_AddressModel)


def _take(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
    return arguments[0]


def _address(_typing: Any, what: Any) -> Any:
    return (types.int64(what), _take) if isinstance(what, (RecordType, ManyType)) else None


address: Callable[[Record | Many[Any]], int] = _extending.intrinsic(_address)
"""Return the address that a record or `Many` is, in kernels."""


def many(element: Any) -> Callable[[int], Many[Any]]:
    """Return what takes that which lies at an address for many of an element, in kernels."""
    kind = ManyType(_type_of(element))

    def at(_typing: Any, _there: Any) -> Any:
        return kind(types.int64), _take

    made: Callable[[int], Many[Any]] = _extending.intrinsic(at)
    return made


longs: Callable[[int], Many[Long]] = many(Long)
"""Take what lies at an address for numbers of 64 bits."""


def _loaded(context: Any, builder: Any, kind: types.Type, there: Any) -> Any:
    if isinstance(kind, RecordType):
        return there
    how = {types.uint8: load_byte, types.int32: load_half}.get(kind, load)
    return how(context, builder, there)


def _stored(context: Any, builder: Any, kind: types.Type, there: Any, value: Any) -> None:
    store(context, builder, there, value, ir.IntType(8 * _size(kind)))


def _field(builder: Any, record: RecordType, there: Any, name: str) -> Any:
    return builder.add(there, ir.Constant(ir.IntType(64), record.offsets[name]))


def _element(builder: Any, many: ManyType, there: Any, place: Any) -> Any:
    return builder.add(there, builder.mul(place, ir.Constant(ir.IntType(64), _size(many.element))))


@_templates.infer_getattr
class _Fields(templates.AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> types.Type | None:  # type: ignore[override]
        kind = record.fields.get(name)
        return None if kind is None else _seen(kind)


@_imputils.lower_getattr_generic(RecordType)  # type: ignore[untyped-decorator]
def _get_field(context: Any, builder: Any, record: RecordType, there: Any, name: str) -> Any:
    return _loaded(context, builder, record.fields[name], _field(builder, record, there, name))


@_imputils.lower_setattr_generic(RecordType)  # type: ignore[untyped-decorator]
def _set_field(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    record, (there, value) = signature.args[0], arguments
    _stored(context, builder, record.fields[name], _field(builder, record, there, name), value)


@_templates.infer_global(operator.getitem)
class _Element(templates.AbstractTemplate):
    def generic(self, given: Any, _named: Any) -> Any:
        if len(given) == 2 and isinstance(given[0], ManyType) and isinstance(given[1], types.Integer):
            return _signature(_seen(given[0].element), given[0], types.int64)
        return None


@_templates.infer_global(operator.setitem)
class _SetElement(templates.AbstractTemplate):
    def generic(self, given: Any, _named: Any) -> Any:
        if isinstance(given[0], ManyType) and isinstance(given[1], types.Integer):
            return _signature(types.none, given[0], types.int64, _seen(given[0].element))
        return None


@_templates.infer_global(operator.add)
class _Rest(templates.AbstractTemplate):
    def generic(self, given: Any, _named: Any) -> Any:
        if isinstance(given[0], ManyType) and isinstance(given[1], types.Integer):
            return _signature(given[0], given[0], types.int64)
        return None


@_extending.lower_builtin(operator.getitem, ManyType, types.Integer)  # type: ignore[untyped-decorator]
def _get_element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    many = signature.args[0]
    return _loaded(context, builder, many.element, _element(builder, many, *arguments))


@_extending.lower_builtin(operator.setitem, ManyType, types.Integer, types.Any)  # type: ignore[untyped-decorator]
def _set_element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    many, (there, place, value) = signature.args[0], arguments
    _stored(context, builder, many.element, _element(builder, many, there, place), value)
    return context.get_dummy_value()


@_extending.lower_builtin(operator.add, ManyType, types.Integer)  # type: ignore[untyped-decorator]
def _add(_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _element(builder, signature.args[0], *arguments)
