"""The rules for attributes of CloudEvents 1.0 and 0.3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from headrace.events.media_types import is_json, is_media_type
from headrace.events.timestamps import is_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OFFICIAL", "OFFICIAL_BY_VERSION", "REQUIRED", "faults", "is_json", "problem_1_0", "shown"]

REQUIRED = ("specversion", "id", "source", "type")

OFFICIAL_BY_VERSION: Mapping[str, frozenset[str]] = {
    "1.0": frozenset((*REQUIRED, "subject", "time", "datacontenttype", "dataschema")),
    "0.3": frozenset((*REQUIRED, "subject", "time", "datacontenttype", "datacontentencoding", "schemaurl")),
}
OFFICIAL = frozenset[str]().union(*OFFICIAL_BY_VERSION.values())
"""Every name that some version defines; the rest are extensions."""

_ECHOED = 60
_LARGE = 10**_ECHOED
_MAX_DEPTH = 32
_NAME = re.compile(r"[a-z0-9]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PLANE_ENDS = "".join(chr((plane << 16) | 0xFFFE) + chr((plane << 16) | 0xFFFF) for plane in range(17))
_FORBIDDEN = re.compile(f"[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufdd0-\\ufdef{_PLANE_ENDS}]")
URI_REFERENCE = r'[^\x00-\x20<>"{}|\\^`\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]+'
_URI_REFERENCE = re.compile(URI_REFERENCE)
_JSON_NAMES = {
    bool: "a boolean",
    int: "an integer",
    float: "a fraction",
    str: "a string",
    dict: "an object",
    list: "an array",
    type(None): "null",
}


def faults(attributes: Mapping[str, object]) -> list[str]:
    """List everything that keeps `attributes` from being those of a CloudEvent; nothing when they are valid.

    An unknown specversion is one fault, and the rest is held to the rules of 1.0.
    """
    checks = _CHECKS_0_3 if attributes.get("specversion") == "0.3" else _CHECKS_1_0
    extension = _extension_0_3 if checks is _CHECKS_0_3 else _extension_1_0
    found = [f"attribute {name!r} is missing" for name in REQUIRED if name not in attributes]
    for name, value in attributes.items():
        check = checks.get(name)
        problem = check(value) if check is not None else _name(name) or extension(value)
        if problem is not None:
            found.append(f"attribute {shown(name)} {problem}: {shown(value)}")
    return found


def problem_1_0(name: str, value: object) -> str | None:
    """Say what is wrong with one attribute of an event of version 1.0, as `faults` does for all of them."""
    check = _CHECKS_1_0.get(name)
    return check(value) if check is not None else _name(name) or _extension_1_0(value)


def shown(value: object) -> str:
    """Render a value for a message, cut where it gets long: a fault must not echo a whole payload."""
    text = repr(value[: _ECHOED + 1] if isinstance(value, str | bytes) else _part_of(value))
    return text if len(text) <= _ECHOED else f"{text[:_ECHOED]}…"


def _part_of(value: object, levels: int = 4) -> object:
    """Return the beginning of an array or an object, at least as much as is shown: the whole may be very long."""
    if isinstance(value, int) and not -_LARGE < value < _LARGE:
        return f"a number of {value.bit_length()} bits"
    if not isinstance(value, list | dict) or not value:
        return value
    if not levels:
        return ...
    if isinstance(value, list):
        return [_part_of(each, levels - 1) for each in value[:_ECHOED]]
    return {key: _part_of(value[key], levels - 1) for key in islice(value, _ECHOED)}


def _string(value: object) -> str | None:
    if not isinstance(value, str):
        return f"must be a string, not {_JSON_NAMES.get(type(value), type(value).__name__)}"
    if value.isascii() and value.isprintable():
        return None
    forbidden = _FORBIDDEN.search(value)
    if forbidden is None:
        return None
    return f"contains U+{ord(forbidden[0]):04X}, a character that CloudEvents strings must not contain"


def _filled(value: object) -> str | None:
    return _string(value) if value != "" else "must not be empty"


def _specversion(value: object) -> str | None:
    if value in ("1.0", "0.3"):
        return None
    return _filled(value) or "must be one of the versions '1.0' and '0.3'"


def _uri_reference(value: object) -> str | None:
    if isinstance(value, str) and _URI_REFERENCE.fullmatch(value):
        return None if value.isascii() else _string(value)
    return _filled(value) or 'must be a URI reference, without blanks and any of <>"{}|\\^`'


def _uri(value: object) -> str | None:
    if isinstance(value, str) and not _SCHEME.match(value):
        return _uri_reference(value) or "must be an absolute URI, one with a scheme"
    return _uri_reference(value)


def _timestamp(value: object) -> str | None:
    if isinstance(value, str) and is_timestamp(value):
        return None
    return _filled(value) or "must be an RFC 3339 timestamp such as 2018-04-05T17:31:00Z"


def _media_type(value: object) -> str | None:
    if isinstance(value, str) and is_media_type(value):
        return None
    return _filled(value) or "must be a media type such as application/json"


def _name(name: str) -> str | None:
    if name in ("data", "data_base64"):
        return "can't be an extension: the name belongs to the event's data"
    if _NAME.fullmatch(name):
        return None
    return "has a name with characters other than a-z and 0-9"


def _extension_1_0(value: object) -> str | None:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return None if -(2**31) <= value < 2**31 else "must be an integer of 32 bits"
    kind = _JSON_NAMES.get(type(value), type(value).__name__)
    return f"must be a string, a boolean or an integer, not {kind}"


def _extension_0_3(value: object) -> str | None:
    if not isinstance(value, float | list | Mapping):
        return _extension_1_0(value)
    return None if _fits(value, _MAX_DEPTH) else f"is nested deeper than {_MAX_DEPTH} levels"


def _fits(value: object, levels: int) -> bool:
    if not isinstance(value, list | Mapping):
        return True
    children = value.values() if isinstance(value, Mapping) else value
    return levels > 0 and all(_fits(child, levels - 1) for child in children)


_CHECKS_1_0: Mapping[str, Callable[[object], str | None]] = {
    "specversion": _specversion,
    "id": _filled,
    "source": _uri_reference,
    "type": _filled,
    "subject": _filled,
    "time": _timestamp,
    "datacontenttype": _media_type,
    "dataschema": _uri,
}
_CHECKS_0_3: Mapping[str, Callable[[object], str | None]] = {
    **{name: check for name, check in _CHECKS_1_0.items() if name in OFFICIAL_BY_VERSION["0.3"]},
    "datacontentencoding": _filled,
    "schemaurl": _uri_reference,
    "dataschema": _string,  # no attribute of 0.3, but it has a column of strings
}
