"""YAML as JSON types, read in one pass over the events of libyaml's parser.

Aliases are refused, because a few lines of them unfold into gigabytes. The depth and the numbers of values and
documents are bounded while reading, so that no text costs more than the bounds allow.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml  # type: ignore[import-untyped]

MOST_LEVELS = 100
MOST_VALUES = 500_000
MOST_DOCUMENTS = 10_000
_LONGEST_NUMBER = 100
_LONGEST_WORD = 10_000
_TAG = "tag:yaml.org,2002:"
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PAIR = re.compile(rb"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


class TooMuch(yaml.YAMLError):  # type: ignore[misc]
    """The text exceeds a bound."""


class _Resolver(yaml.resolver.Resolver):  # type: ignore[misc]
    """Resolves plain scalars: dates stay strings, and neither `<<` nor `=` has a meaning."""


_Resolver.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge", ":value"))
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_RESOLVER = _Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()


def read_documents(text: str | bytes) -> list[Any]:
    """Return the documents of a text; raise yaml.YAMLError or ValueError if it can't be read."""
    reader = _Reader()
    for event in yaml.parse(_with_characters(text), Loader=_Parser):
        reader.take(event)
    return reader.documents


def _with_characters(text: str | bytes) -> str | bytes:
    """Replace escaped surrogate pairs, which JSON has and YAML doesn't, by their character."""
    if isinstance(text, str):
        text = text.encode(errors="surrogatepass")
    if text.lstrip()[:1] not in (b"{", b"["):
        return text
    return _PAIR.sub(lambda found: found[0] if found[1] is None else _character(found), text)


def _character(found: re.Match[bytes]) -> bytes:
    high, low = int(found[1], 16), int(found[2], 16)
    return chr(0x10000 + (high - 0xD800 << 10) + (low - 0xDC00)).encode()


class _Reader:
    """Builds documents. `_open` are the incomplete arrays and objects, each object with its pending key."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self._open: list[tuple[Any, list[Any]]] = []
        self._values = 0

    def take(self, event: Any) -> None:
        """Add the next event of the parser."""
        match event:
            case yaml.ScalarEvent():
                self._add(_scalar(event), event)
            case yaml.MappingStartEvent():
                self._begin({}, "map", event)
            case yaml.SequenceStartEvent():
                self._begin([], "seq", event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
            case yaml.AliasEvent():
                raise yaml.YAMLError(f"aliases are not accepted{event.start_mark}")
            case yaml.DocumentStartEvent() if len(self.documents) >= MOST_DOCUMENTS:
                raise TooMuch(
                    f"there are more than {MOST_DOCUMENTS} documents; send them in several requests"
                )

    def _begin(self, container: Any, kind: str, event: Any) -> None:
        if event.tag not in (None, "!", _TAG + kind):
            raise _unknown(event)
        if len(self._open) >= MOST_LEVELS:
            raise TooMuch(
                f"this YAML is nested too deeply, in more than {MOST_LEVELS} levels{event.start_mark}"
            )
        self._add(container, event)
        self._open.append((container, []))

    def _add(self, value: Any, event: Any) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise TooMuch(f"there are more than {MOST_VALUES} values; send them in several requests")
        if not self._open:
            self.documents.append(value)
            return
        container, key = self._open[-1]
        if isinstance(container, list):
            container.append(value)
        elif key:
            container[key.pop()] = value
        else:
            key.append(_key(value, container, event))


def _key(value: Any, mapping: dict[str, Any], event: Any) -> str:
    if not isinstance(value, str):
        shown = value if isinstance(value, int | float | None) else "of this object"
        raise yaml.YAMLError(f"the key {shown!r} is not a string; put it in quotes{event.start_mark}")
    if value in mapping:
        raise yaml.YAMLError(f"the key {value[:60]!r} is given twice{event.start_mark}")
    return value


def _scalar(event: Any) -> Any:
    tag = event.tag
    if tag in (None, "!"):
        if not event.implicit[0] or len(event.value) > _LONGEST_WORD:
            return event.value  # quoted, or too long for anything but a string
        tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)
    match tag.removeprefix(_TAG):
        case "str":
            return event.value
        case "null":
            return None
        case "bool":
            return _CONSTRUCTOR.construct_yaml_bool(yaml.ScalarNode(tag, event.value))
        case "int" | "float" as kind:
            return _number(kind, tag, event)
        case _:
            raise _unknown(event)


def _number(kind: str, tag: str, event: Any) -> int | float:
    """Parse a number that fits JSON and 64 bits."""
    if len(event.value) > _LONGEST_NUMBER:
        raise yaml.YAMLError(f"a number has more than {_LONGEST_NUMBER} characters{event.start_mark}")
    node = yaml.ScalarNode(tag, event.value)
    if kind == "int":
        number: int | float = _CONSTRUCTOR.construct_yaml_int(node)
        is_good = -(2**63) <= number < 2**64
    else:
        number = _CONSTRUCTOR.construct_yaml_float(node)
        is_good = math.isfinite(number)
    if not is_good:
        raise yaml.YAMLError(
            f"{event.value!r} is not a JSON number, or has more than 64 bits{event.start_mark}"
        )
    return number


def _unknown(event: Any) -> yaml.YAMLError:
    return yaml.YAMLError(f"could not determine a constructor for the tag {event.tag!r}{event.start_mark}")
