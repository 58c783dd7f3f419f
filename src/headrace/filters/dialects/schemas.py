"""What a filter looks like in each dialect, as JSON Schema: the same keys as the table of dialects.

A schema never refuses what the parser takes. What it can't say stands in `format`, `cel` and `cesql`: the text is an
expression of that language, within the limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.dialects.streamer import OPERATORS
from headrace.filters.limits import DEFAULT_LIMITS
from headrace.filters.message.operators import ANY_TYPE, MANY, Operator, ValueType
from headrace.filters.message.tree import Time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.filters.limits import Limits

Schema = dict[str, Any]


def dialect_schemas(filter_: str, message: str, limits: Limits = DEFAULT_LIMITS) -> Mapping[str, Schema]:
    """Return the schema of the body, by dialect; `filter_` and `message` are references to what may nest in it."""
    text = {"type": "string", "minLength": 1, "maxLength": limits.length}
    named = _attributes("^[a-z0-9]+$", text, limits) | {"minProperties": 1}
    nested = {"type": "array", "minItems": 1, "items": {"$ref": filter_}}
    cel = {"type": "string", "minLength": 1, "maxLength": limits.expression, "format": "cel"}
    sql = text | {"format": "cesql"}
    value = {"type": "string", "maxLength": limits.length}
    return {
        "exact": named,
        "prefix": named,
        "suffix": named,
        "all": nested,
        "any": nested,
        "not": {"$ref": filter_},
        "sql": sql,
        "cesql": sql,
        "cel": cel,
        "expression": cel,
        "attributes": _attributes(r"^[a-z0-9]+(\.[A-Za-z0-9_-]+)*$", value, limits),
        "sourceAndType": _object({"source": value, "type": value}, required=()) | {"minProperties": 1},
        "message": {"$ref": message},
        "streamer": {"type": "array", "items": _condition(text)},
    }


def filter_schema(dialects: Mapping[str, Schema]) -> Schema:
    """Return the schema of a filter: an object with one key, its dialect."""
    return {
        "type": "object",
        "description": "A filter: an object with exactly one key, the dialect that it is written in.",
        "properties": dict(dialects),
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "examples": [{"prefix": {"type": "com.example."}}],
    }


def message_schema(message: str, limits: Limits = DEFAULT_LIMITS) -> Schema:
    """Return the schema of a predicate tree over properties and times; `message` is the reference to itself."""
    trees = {"type": "array", "minItems": 2, "items": {"$ref": message}}
    connectives = [_object({name: trees}) for name in ("and", "or")]
    return {
        "description": "A tree of predicates over properties, event time and publish time.",
        "anyOf": [*connectives, _object({"not": {"$ref": message}}), *_predicates(limits)],
    }


def _attributes(names: str, value: Schema, limits: Limits) -> Schema:
    return {
        "type": "object",
        "propertyNames": {"pattern": names, "maxLength": limits.length, "not": {"const": "data"}},
        "additionalProperties": value,
    }


def _condition(text: Schema) -> Schema:
    field = text | {"pattern": r"^[^.]+(\.[^.]+)*$", "not": {"enum": ["data", "ce"]}}
    ordered: Schema = {"type": ["string", "number", "boolean"]}
    single: Schema = {"type": ["string", "number", "boolean", "null"]}
    values = {"in": {"type": "array", "items": single}} | dict.fromkeys(("==", "!=", "contains"), single)
    return {
        "anyOf": [
            _object({"field": field, "op": {"const": name}, "value": values.get(name, ordered)})
            for name in OPERATORS
        ]
    }


def _predicates(limits: Limits) -> Iterable[Schema]:
    name = {"type": "string", "pattern": "^[a-z0-9]+$", "maxLength": limits.length, "not": {"const": "data"}}
    text = {"type": "string", "maxLength": limits.length}
    for operator in Operator:
        value: Schema = {"type": ["string", "number"]} if operator in ANY_TYPE else text
        most = {"maxItems": 2} if operator is Operator.BETWEEN else {}
        several = {"type": "array", "minItems": len(most) + 1, **most, "items": value}
        asked: Schema = {"op": {"const": operator.value}}
        asked |= {"values": several} if operator in MANY else {"value": value}
        typed = {"type": {"enum": [each.value for each in ValueType]}}
        yield _object({"property": name, **asked, **typed}, ["property", *asked])
        if operator in ANY_TYPE:
            times = {"ref": {"enum": [each.value for each in Time]}}
            yield _object({**times, **asked, **typed}, [*times, *asked])


def _object(properties: Mapping[str, Schema], required: Iterable[str] | None = None) -> Schema:
    return {
        "type": "object",
        "required": list(properties if required is None else required),
        "properties": dict(properties),
        "additionalProperties": False,
    }
