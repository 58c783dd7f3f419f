"""Questions about an attribute whose answer is false, not unknown, where the attribute is missing.

Values are compared as strings. Extensions may hold integers and booleans, of which the canonical string is
compared: `string(ce.count) == "42"`. The attributes that CloudEvents itself defines are strings already.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.filters.ir.atoms import Has
from headrace.filters.ir.expression import And
from headrace.filters.ir.operands import Text, attribute

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.atoms import Atom
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

REQUIRED = frozenset({"specversion", "id", "source", "type"})
OPTIONAL = frozenset({"datacontenttype", "dataschema", "subject", "time", "schemaurl", "datacontentencoding"})

_LEGAL_NAME = re.compile(r"[a-z0-9]+\Z")


def attribute_name(name: object, place: Place) -> str:
    """Return the name if an event can have such an attribute."""
    if not isinstance(name, str) or not _LEGAL_NAME.match(name):
        raise place.fault("an attribute's name has lower-case letters and digits only", name)
    if name == "data":
        raise place.fault("names an attribute; an event's payload is none", name)
    place.text(name)
    return name


def present_and(name: str, ask: Callable[[Operand], Atom]) -> Expression:
    """Return the atom that `ask` makes of the attribute, false where the attribute is missing."""
    path = attribute(name)
    if name in REQUIRED:
        return ask(path)
    return And((Has(path), ask(path if name in OPTIONAL else Text(path))))
