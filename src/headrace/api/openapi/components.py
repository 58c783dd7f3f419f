"""The named schemas of a document, each listed once, and the schemas of types.

A TypedDict is an object, named as the class is and described by its docstring. In `Annotated`, a text is a description,
`Keywords` add to the schema, and a `Named` one takes the type's place.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import FunctionType, GenericAlias, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from headrace.documents.schemas import Keywords, Named, Schema

_PLAIN: dict[Any, Schema] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    NoneType: {"type": "null"},
}


class Components:
    """Collects, in `schemas`, whatever named schema it meets."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}

    def resolve(self, shape: Any) -> Any:
        """Return a schema in which references stand for named schemas and for types."""
        if isinstance(shape, Named):
            return self._reference(shape.name, shape.schema)
        if isinstance(shape, Mapping):
            whole = {name: self.resolve(each) for name, each in shape.items()}
            return whole | whole["$ref"] if "$ref" in whole else whole
        if isinstance(shape, list | tuple):
            return [self.resolve(each) for each in shape]
        return self._of_type(shape) if _is_type(shape) else shape

    def _of_type(self, type_: Any) -> Any:
        if get_origin(type_) is Annotated:
            return self._annotated(*get_args(type_))
        if is_typeddict(type_) and not type_.__name__.startswith("_"):
            return self._reference(type_.__name__, _record(type_))
        return self.resolve(_record(type_) if is_typeddict(type_) else _schema(type_))

    def _reference(self, name: str, schema: Any) -> Schema:
        if name not in self.schemas:
            self.schemas[name] = {}  # it may refer to itself
            self.schemas[name] = self.resolve(schema() if isinstance(schema, FunctionType) else schema)
        return {"$ref": f"#/components/schemas/{name}"}

    def _annotated(self, type_: Any, *notes: Any) -> Schema:
        named = next((each for each in notes if isinstance(each, Named)), None)
        schema: Schema = self.resolve(named or type_)
        for each in notes:
            if isinstance(each, str):
                schema = schema | {"description": each}
            elif isinstance(each, Keywords):
                schema = schema | self.resolve(each.schema)
        return schema


def _is_type(shape: Any) -> bool:
    return isinstance(shape, type | GenericAlias | UnionType) or shape is Any or get_origin(shape) is not None


def _record(type_: Any) -> Schema:
    required, about = sorted(type_.__required_keys__), inspect.cleandoc(type_.__doc__ or "")
    return {
        "type": "object",
        **({"description": about} if about else {}),
        **({"required": required} if required else {}),
        "properties": get_type_hints(type_, include_extras=True),
        **({"additionalProperties": False} if hasattr(type_, "__closed__") else {}),
    }


def _schema(type_: Any) -> Any:
    """Return the schema of a type, in which the types of its parts still stand."""
    if not isinstance(type_, GenericAlias) and type_ in _PLAIN:
        return _PLAIN[type_]
    origin, parts = get_origin(type_), get_args(type_)
    if origin is NotRequired:
        return parts[0]
    if origin is Literal:
        return {"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)}
    if origin in (Union, UnionType):
        return {"anyOf": list(parts)}
    if origin is list:
        return {"type": "array"} if parts[0] is Any else {"type": "array", "items": parts[0]}
    if origin is dict:
        return {"type": "object"} if parts[1] is Any else {"type": "object", "additionalProperties": parts[1]}
    raise TypeError(f"{type_!r} has no schema")
