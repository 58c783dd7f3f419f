"""Media types as far as events need them: their shape, whether they mean JSON, their charset."""

from __future__ import annotations

import re

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 -- a token of RFC 9110, nothing secret
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_PARAMETER = rf" *; *{_TOKEN}=(?:{_TOKEN}|{_QUOTED})"
MEDIA_TYPE = rf"{_TOKEN}/{_TOKEN}(?:{_PARAMETER})* *(?:; *)?"
_MEDIA_TYPE = re.compile(MEDIA_TYPE)
_CHARSET = re.compile(rf'; *charset=(?:({_TOKEN})|"({_TOKEN})")', re.IGNORECASE)


def is_media_type(text: str) -> bool:
    """Tell whether `text` has the shape of RFC 2046: `type/subtype`, then parameters."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def essence(media_type: str) -> str:
    """Return `type/subtype` in lower case, without parameters."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str | None) -> bool:
    """Tell whether a media type declares JSON: `*/json` or `*/*+json`, whatever its parameters and case.

    A missing type is not JSON here: whether it implies JSON depends on the format the event came in.
    """
    if media_type is None:
        return False
    subtype = essence(media_type).partition("/")[2]
    return subtype == "json" or subtype.endswith("+json")


def charset(media_type: str) -> str | None:
    """Return the charset parameter in lower case, or `None` when there is none."""
    found = _CHARSET.search(media_type)
    return (found[1] or found[2]).lower() if found else None
