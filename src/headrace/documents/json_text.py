"""JSON as it came in, read strictly: a name that stands twice in an object would leave open which of them is meant."""

from __future__ import annotations

import json
from typing import Any

import msgspec


class NotJson(ValueError):
    """A text that is no JSON, or that can be read in two ways; the message says why."""


def read_json(text: bytes) -> Any:
    """Return the value that a text stands for, or raise NotJson."""
    try:
        value = msgspec.json.decode(text)
        _strict.decode(text.decode())
    except RecursionError:
        raise NotJson("it nests too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(str(error).removeprefix("JSON is malformed: ")) from None
    return value


def _unique(members: list[tuple[str, Any]]) -> None:
    names = set()
    for name, _ in members:
        if name in names:
            raise NotJson(f"the name {name[:60]!r} stands twice in an object")
        names.add(name)


_strict = json.JSONDecoder(object_pairs_hook=_unique, parse_int=str, parse_float=str)
