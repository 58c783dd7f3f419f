"""The JSON Schema of a filter in each dialect, with the same keys as the table of dialects.

A schema accepts whatever the parser accepts. What it can't express is in the formats `cel` and `cesql`: the text is an
expression of that language, within the limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.dialects.streamer import OPERATORS, STRINGS
from headrace.filters.message.operands import DOUBLE, LONG
from headrace.filters.message.operators import ANY_TYPE, MANY, Operator, ValueType
from headrace.filters.message.tree import Time
from headrace.filters.values.kinds import INT64

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.filters.bounds.limits import Limits

Schema = dict[str, Any]

_ANY_VALUE = ("==", "!=", "contains")
"""The operators of Streamer's filters that also take null, which has no order."""
_OPERANDS: tuple[tuple[frozenset[Operator], str, Schema | None], ...] = (
    (ANY_TYPE - MANY, "value", None),
    (frozenset({Operator.BETWEEN}), "values", {"minItems": 2, "maxItems": 2}),
    (ANY_TYPE & MANY - {Operator.BETWEEN}, "values", {"minItems": 1}),
    (frozenset(Operator) - ANY_TYPE - MANY, "value", None),
    (MANY - ANY_TYPE, "values", {"minItems": 1}),
)
"""Operators, the member with their operands, and the number of operands if it is a list."""
_NUMBERS: tuple[tuple[Schema, ValueType, bool], ...] = (
    ({"type": "number"}, ValueType.DOUBLE, False),
    ({"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{DOUBLE}$"}]}, ValueType.DOUBLE, True),
    (
        {
            "anyOf": [
                {"type": "integer", "minimum": INT64.start, "maximum": INT64.stop - 1},
                {"type": "string", "pattern": f"^{LONG}$"},
            ]
        },
        ValueType.LONG,
        True,
    ),
)
"""The schemas of numbers, their type, and whether `type` must be given."""


def dialect_schemas(filter_: Any, message: Any, limits: Limits = DEFAULT_LIMITS) -> Mapping[str, Schema]:
    """Return the schema of each dialect's body; `filter_` and `message` stand for the schemas that may nest."""
    text = {"type": "string", "minLength": 1, "maxLength": limits.length}
    named = _attributes("^[a-z0-9]+$", text, limits) | {"minProperties": 1}
    nested = {"type": "array", "minItems": 1, "items": filter_}
    cel = {"type": "string", "minLength": 1, "maxLength": limits.expression, "format": "cel"}
    sql = text | {"format": "cesql"}
    value = {"type": "string", "maxLength": limits.length}
    return {
        "exact": named,
        "prefix": named,
        "suffix": named,
        "all": nested,
        "any": nested,
        "not": filter_,
        "sql": sql,
        "cesql": sql,
        "cel": cel,
        "expression": cel,
        "attributes": _attributes(r"^[a-z0-9]+(\.[A-Za-z0-9_-]+)*$", value, limits),
        "sourceAndType": _object({"source": value, "type": value}, required=()) | {"minProperties": 1},
        "message": message,
        "streamer": {"type": "array", "items": _condition(text)},
    }


def filter_schema(dialects: Mapping[str, Schema]) -> Schema:
    """Return the schema of a filter, an object whose only key is its dialect."""
    return {
        "type": "object",
        "description": "A filter: an object with exactly one key, the dialect that it is written in.",
        "properties": dict(dialects),
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "examples": [{"prefix": {"type": "com.example."}}],
    }


def message_schema(message: Any, limits: Limits = DEFAULT_LIMITS) -> Schema:
    """Return the schema of a predicate tree over properties and times; `message` stands for that schema."""
    trees = {"type": "array", "minItems": 2, "items": message}
    connectives = [_object({name: trees}) for name in ("and", "or")]
    return {
        "description": "A tree of predicates over properties, event time and publish time.",
        "anyOf": [*connectives, _object({"not": message}), *_predicates(limits)],
    }


def _attributes(names: str, value: Schema, limits: Limits) -> Schema:
    return {
        "type": "object",
        "propertyNames": {"pattern": names, "maxLength": limits.length, "not": {"const": "data"}},
        "additionalProperties": value,
    }


def _condition(text: Schema) -> Schema:
    """Return the schema of a condition. Fields that are always strings take only strings."""
    longest = text["maxLength"]
    field = text | {"pattern": r"^[^.]+(\.[^.]+)*$", "not": {"enum": ["data", "ce", *STRINGS]}}
    string: Schema = {"type": "string", "maxLength": longest}
    ordered: Schema = {"type": ["string", "number", "boolean"], "maxLength": longest}
    single: Schema = {"type": ["string", "number", "boolean", "null"], "maxLength": longest}
    ordering = [name for name in OPERATORS if name not in ("in", *_ANY_VALUE)]
    return {
        "anyOf": [
            _object({"field": field_schema, "op": {"enum": operators}, "value": value})
            for field_schema, operators, value in (
                (field, list(_ANY_VALUE), single),
                (field, ordering, ordered),
                (field, ["in"], {"type": "array", "items": single}),
                ({"enum": list(STRINGS)}, [*_ANY_VALUE, *ordering], string),
                ({"enum": list(STRINGS)}, ["in"], {"type": "array", "items": string}),
            )
        ]
    }


def _predicates(limits: Limits) -> Iterable[Schema]:
    """Yield a schema for each kind of operator and operands: any for a property, numbers for a time."""
    name = {"type": "string", "pattern": "^[a-z0-9]+$", "maxLength": limits.length, "not": {"const": "data"}}
    text = {"type": "string", "maxLength": limits.length}
    times = [each.value for each in Time]
    for operators, member, several in _OPERANDS:
        for value, kind, is_typed in ((text, ValueType.STRING, False), *_NUMBERS):
            if kind is not ValueType.STRING and not operators <= ANY_TYPE:
                continue
            operands = value if several is None else {"type": "array", **several, "items": value}
            asked = {"op": {"enum": [each.value for each in Operator if each in operators]}, member: operands}
            required = [*asked, *(["type"] if is_typed else [])]
            typed = {"type": {"const": kind.value}}
            yield _object({"property": name, **asked, **typed}, ["property", *required])
            if kind is not ValueType.STRING:
                yield _object({"ref": {"enum": times}, **asked, **typed}, ["ref", *required])


def _object(properties: Mapping[str, Schema], required: Iterable[str] | None = None) -> Schema:
    return {
        "type": "object",
        "required": list(properties if required is None else required),
        "properties": dict(properties),
        "additionalProperties": False,
    }
