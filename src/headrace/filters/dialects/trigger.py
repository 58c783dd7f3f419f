"""The filters of a Knative Trigger: `attributes`, and `sourceAndType`, which it replaces.

Every attribute named has to be there and equal its value; the value `""` asks only for one that isn't empty.
`expression`, the third of them, is CEL.

A dotted name such as `github.repository` stands for the extension of that very name or, as extensions of
CloudEvents 0.3 may be objects, for the field `repository` of the extension `github`.
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
    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

_FIELD = re.compile(r"[A-Za-z0-9_-]+\Z")


def parse_attributes(body: object, place: Place) -> Expression:
    """Every attribute named equals its value; an object without any holds always, as in Knative."""
    if not isinstance(body, Mapping):
        raise place.fault("must be an object of attribute names and values", body)
    wanted = {_name(name, place): _value(value, place.member(name)) for name, value in body.items()}
    return all_of(tuple(_asked(name, value) for name, value in sorted(wanted.items())))


def parse_source_and_type(body: object, place: Place) -> Expression:
    """`source` and `type`, or one of them, equal their values."""
    if not isinstance(body, Mapping) or not body or not body.keys() <= {"source", "type"}:
        raise place.fault("must be an object with `source`, `type` or both", body)
    place.note("sourceAndType is deprecated; attributes does the same")
    return parse_attributes(body, place)


def _name(name: object, place: Place) -> str:
    if isinstance(name, str) and "." in name:
        first, *fields = name.split(".")
        attribute_name(first, place)
        if not all(map(_FIELD.match, fields)):
            raise place.fault("a dotted name has letters, digits, _ and - between its dots", name)
        return place.text(name)
    return attribute_name(name, place)


def _value(value: object, place: Place) -> str:
    return value if value == "" and isinstance(value, str) else place.text(value)


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
