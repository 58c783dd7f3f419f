"""Tests of attributes that are false, not unknown, if the attribute is missing.

Values are compared as strings. Extensions may be integers and booleans, whose canonical string is compared:
`string(ce.count) == "42"`. The attributes that CloudEvents defines are strings already.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.events.attributes import OFFICIAL, REQUIRED
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.expression import And
from headrace.filters.ir.operands import Text, attribute

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.atoms import Atom
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

_LEGAL_NAME = re.compile(r"[a-z0-9]+\Z")


def attribute_name(name: object, context: ParseContext) -> str:
    """Return the name if an event may have such an attribute."""
    if not isinstance(name, str) or not _LEGAL_NAME.match(name):
        raise context.fault("an attribute's name consists of lower-case letters and digits", name)
    if name == "data":
        raise context.fault("must name an attribute, which the event's data isn't", name)
    context.text(name)
    return name


def present_and(name: str, ask: Callable[[Operand], Atom]) -> Expression:
    """Return the test that `ask` makes for the attribute, false if the attribute is missing."""
    path = attribute(name)
    if name in REQUIRED:
        return ask(path)
    return And((Has(path), ask(path if name in OFFICIAL else Text(path))))
