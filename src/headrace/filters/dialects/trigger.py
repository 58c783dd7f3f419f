"""The filters of a Knative Trigger: `attributes`, and the older `sourceAndType`. `expression` is CEL.

Every named attribute must be present and equal its value; the value `""` matches any that isn't empty.

A dotted name such as `github.repository` is the extension of exactly that name or, as extensions of CloudEvents 0.3
may be objects, the field `repository` of the extension `github`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from headrace.filters.dialects.attributes import attribute_name, present_and
from headrace.filters.ir.atoms import Comparison, Has, Operator
from headrace.filters.ir.expression import And, Or, all_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text, attribute

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

_FIELD = re.compile(r"[A-Za-z0-9_-]+\Z")


def parse_attributes(body: object, context: ParseContext) -> Expression:
    """Parse a filter that matches if each attribute equals its value; as in Knative, without any it always matches."""
    if not isinstance(body, Mapping):
        raise context.fault("must be an object of attribute names and values", body)
    wanted = {_name(name, context): _value(value, context.member(name)) for name, value in body.items()}
    return all_of(tuple(_asked(name, value) for name, value in sorted(wanted.items())))


def parse_source_and_type(body: object, context: ParseContext) -> Expression:
    """Parse a filter that matches if `source` and `type`, or the one that is given, equal their values."""
    if not isinstance(body, Mapping) or not body or not body.keys() <= {"source", "type"}:
        raise context.fault("must be an object with `source`, `type` or both", body)
    context.note("sourceAndType is deprecated; attributes does the same")
    return parse_attributes(body, context)


def _name(name: object, context: ParseContext) -> str:
    if isinstance(name, str) and "." in name:
        first, *fields = name.split(".")
        attribute_name(first, context)
        if not all(map(_FIELD.match, fields)):
            raise context.fault("a dotted name consists of letters, digits, _ and - between its dots", name)
        return context.text(name)
    return attribute_name(name, context)


def _value(value: object, context: ParseContext) -> str:
    return value if value == "" and isinstance(value, str) else context.text(value)


def _asked(name: str, value: str) -> Expression:
    ask = partial(_compared, value)
    if "." not in name:
        return present_and(name, ask)
    return Or((_extension(name, value), _nested(tuple(name.split(".")), value)))


def _compared(value: str, operand: Operand) -> Comparison:
    operator = Operator.EQUAL if value else Operator.NOT_EQUAL
    return Comparison(operand, operator, Literal(value))


def _extension(name: str, value: str) -> Expression:
    path = attribute(name)
    return And((Has(path), _compared(value, Text(path))))


def _nested(steps: tuple[str, ...], value: str) -> Expression:
    paths = [Path(("ce", *steps[:depth])) for depth in range(1, len(steps) + 1)]
    return And((*map(Has, paths), _compared(value, Text(paths[-1]))))
