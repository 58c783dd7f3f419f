"""What stands at an operand of one event, or why nothing does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any

from headrace.filters.ir.operands import Operand, Path, Text

if TYPE_CHECKING:
    from headrace.filters.variables import Variables

INT64 = range(-(2**63), 2**63)

_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    NoneType: "null",
    dict: "map",
    MappingProxyType: "map",
    Mapping: "map",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an operand has no value, in words for the author of the filter."""

    reason: str


def value_of(operand: Operand, variables: Variables) -> object:
    """Return the operand's value or a `Fault`."""
    match operand:
        case Path(steps):
            return follow(steps, variables)
        case Text(path):
            return _as_text(follow(path.steps, variables), path)


def follow(steps: tuple[str, ...], variables: Variables) -> Any:
    """Return what stands at the end of the steps or a `Fault`."""
    value: Any = variables
    for depth, step in enumerate(steps):
        if kind_of(value) != "map":
            return Fault(f"{'.'.join(steps[:depth])} is a {kind_of(value)}, not a map")
        if step not in value:
            return Fault(f"{'.'.join(steps[: depth + 1])} is missing")
        value = value[step]
    return _as_double(value) if isinstance(value, int) and value not in INT64 else value


def kind_of(value: object) -> str:
    """Name the type as a filter sees it. Integers and doubles are one kind: they compare with each other."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    return next((kind for base, kind in _KINDS.items() if isinstance(value, base)), "list")


def _as_double(value: int) -> float:
    """Read an integer beyond 64 bits as CEL does a JSON number: nearest double, infinite beyond those."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _as_text(value: object, path: Path) -> object:
    match value:
        case str() | Fault():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _write_double(value)
        case _:
            return Fault(f"{'.'.join(path.steps)} is a {kind_of(value)}, which has no canonical string")


def _write_double(value: float) -> str:
    """Write as CEL's `string()` does: the fewest digits that read back, an exponent from a million on."""
    if not math.isfinite(value):
        return str(value)
    digits = Decimal(repr(value)).normalize()
    if -4 <= digits.adjusted() < 6:
        return format(digits, "f")
    return f"{value:.{len(digits.as_tuple().digits) - 1}e}"
