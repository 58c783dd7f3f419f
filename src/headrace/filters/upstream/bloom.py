"""A Bloom filter over the keys of a channel's subscriptions, for use at the source of events.

It contains one key for each way in which each subscription can match: an event without any of these keys matches no
subscription. It is a snapshot, without later subscriptions.

| bytes | content |
|---|---|
| 8 | `HRBLOOM` and a line feed |
| 4, 4 | version of the format, length of the header; little endian, as all numbers |
| 32 | SHA-256 of everything after it |
| header | JSON in UTF-8: `Header` |
| 64 per block | the bits |
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from headrace.errors import UnreadableExport
from headrace.events.recorded import Recorded
from headrace.filters.upstream.key_hash import (
    CONSTANT_TAG,
    DEFINITION,
    ELEMENT_SPACE,
    END_SPACE,
    EQUAL_SPACE,
    GRAM_SPACE,
    GRAM_TAG,
    NUMBER_TAG,
    START_SPACE,
    field_seed,
    hash_number,
    hash_text,
    key_seed,
    mix,
)
from headrace.filters.values.conversions import to_string
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Kind, kind_of
from headrace.filters.values.maps import pairs_of
from headrace.filters.values.paths import follow
from headrace.filters.variables import variables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.events.event import Event

VERSION = 1
_MAGIC = b"HRBLOOM\n"
_PRELUDE = struct.Struct("<8sII32s")
_BLOCK = 64
_IN_BLOCK = 511
_OF_LOG = ("collection", "tenant", "publishTime")
_WHAT = "an exported Bloom filter"


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The kinds of keys of one field, and the lengths of prefixes, suffixes and grams among them.

    `name` is the field in CEL. `text`: the field is the canonical string of the value at the path. `present` lists
    which values may match without any key, since ranges and patterns have none: anything, a number, a text.
    """

    name: str
    path: tuple[str, ...]
    text: bool = False
    equal: bool = False
    elements: bool = False
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    grams: tuple[int, ...] = ()
    present: tuple[Literal["anything", "number", "text"], ...] = ()

    def joined(self, other: Field) -> Field:
        """Return the union of both descriptions of the same field."""
        return msgspec.structs.replace(
            self,
            equal=self.equal or other.equal,
            elements=self.elements or other.elements,
            starts=tuple(sorted({*self.starts, *other.starts})),
            ends=tuple(sorted({*self.ends, *other.ends})),
            grams=tuple(sorted({*self.grams, *other.grams})),
            present=tuple(sorted({*self.present, *other.present})),
        )


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything except the bits. `bypass`: some subscription can match without any key, so every event may match."""

    channel: tuple[str, str] | None
    seed: str
    fields: tuple[Field, ...]
    keys: int
    fp_rate: float
    bits: int
    blocks: int
    bypass: bool
    hash: str = DEFINITION


@dataclass(frozen=True, slots=True)
class ExportedBloom:
    """Tells whether any subscription may match an event. Immutable and thread-safe."""

    header: Header
    words: bytes

    def to_bytes(self) -> bytes:
        """Serialize the filter."""
        # Steps of a path may be invalid Unicode, which only escapes can represent.
        header = json.dumps(msgspec.to_builtins(self.header)).encode()
        digest = hashlib.sha256(header + self.words).digest()
        return _PRELUDE.pack(_MAGIC, VERSION, len(header), digest) + header + self.words

    @classmethod
    def from_bytes(cls, data: bytes) -> ExportedBloom:
        """Deserialize a filter; raise `UnreadableExport` if it is damaged or of another version."""
        header_length, digest = _prelude(data)
        body = data[_PRELUDE.size :]
        if len(body) < header_length or hashlib.sha256(body).digest() != digest:
            raise UnreadableExport(_WHAT, "it is damaged or incomplete: export it again")
        try:
            header = msgspec.convert(json.loads(body[:header_length]), Header)
        except (ValueError, msgspec.ValidationError) as error:
            raise UnreadableExport(_WHAT, f"its header can't be read: {error}") from error
        words = body[header_length:]
        if len(words) != header.blocks * _BLOCK:
            raise UnreadableExport(_WHAT, f"it has {len(words)} bytes of bits, but {header.blocks} blocks")
        return cls(header, words)

    def joined(self, other: ExportedBloom) -> ExportedBloom:
        """Return the union of two filters, which must have the same channel, seed and size."""
        mine, theirs = self.header, other.header
        if (mine.channel, mine.seed, mine.blocks, mine.bits) != (
            theirs.channel, theirs.seed, theirs.blocks, theirs.bits,
        ):  # fmt: skip
            raise ValueError("these Bloom filters have different channels, seeds or sizes")
        fields = {each.name: each for each in mine.fields}
        for each in theirs.fields:
            fields[each.name] = each.joined(fields[each.name]) if each.name in fields else each
        header = msgspec.structs.replace(
            mine,
            fields=tuple(fields.values()),
            keys=mine.keys + theirs.keys,
            bypass=mine.bypass or theirs.bypass,
        )
        words = int.from_bytes(self.words, "little") | int.from_bytes(other.words, "little")
        return ExportedBloom(header, words.to_bytes(len(self.words), "little"))

    def may_match(self, event: Event | Recorded) -> bool:
        """Return whether any subscription of the channel, or without a scope, may match; false is certain.

        Unless the event is `Recorded`, it is assumed to be sent to the filter's channel. Its attributes may become the
        texts that HTTP headers turn them into.
        """
        if self.header.bypass:
            return True
        values = _Values(event, self.header.channel)
        seed = int(self.header.seed, 16)
        return any(
            self._may_match(field, value, seed) for field in self.header.fields for value in values.of(field)
        )

    def _may_match(self, field: Field, value: Any, seed: int) -> bool:
        if value is _UNKNOWN or _suffices(field, value):
            return True
        return any(map(self._passes, _hashes(field, value, field_seed(field.name, seed))))

    def _passes(self, hash_: int) -> bool:
        start = ((hash_ >> 32) * self.header.blocks >> 32) * _BLOCK
        block = int.from_bytes(self.words[start : start + _BLOCK], "little")
        rest = mix(hash_)
        return all(block >> (rest >> 9 * each & _IN_BLOCK) & 1 for each in range(self.header.bits))


def _prelude(data: bytes) -> tuple[int, bytes]:
    if not data.startswith(_MAGIC):
        raise UnreadableExport(_WHAT, "it doesn't start like one")
    if len(data) < _PRELUDE.size:
        raise UnreadableExport(_WHAT, "it is damaged or incomplete: export it again")
    _, version, header_length, digest = _PRELUDE.unpack_from(data)
    if version != VERSION:
        raise UnreadableExport(_WHAT, f"its format has version {version}, not {VERSION}: export it again")
    return header_length, digest


_UNKNOWN = object()


class _Values:
    """The values of the fields of one event, as far as they are known before it is in the log."""

    def __init__(self, event: Event | Recorded, channel: tuple[str, str] | None) -> None:
        self._variables = variables_of(event)
        self._assumed: dict[str, Any] = {}
        if not isinstance(event, Recorded):
            self._assumed = dict.fromkeys(_OF_LOG, _UNKNOWN)
            if channel is not None:
                self._assumed |= {"tenant": channel[0], "collection": channel[1]}

    def of(self, field: Field) -> Iterator[Any]:
        """Yield the value, and what it may become in transit; nothing if the field is missing."""
        if field.path[0] in self._assumed:
            yield from self._as(field, self._assumed[field.path[0]])
            return
        try:
            value = follow(field.path, self._variables)
            yield from self._as(field, value)
            if field.path[0] == "ce" and not isinstance(value, str):
                yield to_string(value)
        except Fault:
            return

    def _as(self, field: Field, value: Any) -> Iterator[Any]:
        if not field.text or value is _UNKNOWN or isinstance(value, str):
            yield value
        elif kind_of(value) in _WITH_STRING:
            yield to_string(value)


_WITH_STRING = (Kind.BOOL, Kind.INT, Kind.DOUBLE)
_NUMBERS = (Kind.INT, Kind.DOUBLE)
_HASHED = (Kind.NULL, Kind.BOOL, Kind.INT, Kind.DOUBLE, Kind.STRING, Kind.LIST, Kind.MAP)


def _suffices(field: Field, value: Any) -> bool:
    """Return whether the value may match without any key."""
    kind = kind_of(value)
    return (
        kind not in _HASHED
        or "anything" in field.present
        or ("number" in field.present and kind in _NUMBERS)
        or ("text" in field.present and kind is Kind.STRING)
    )


def _hashes(field: Field, value: Any, seed: int) -> Iterator[int]:
    match kind_of(value):
        case Kind.LIST | Kind.MAP:
            if field.elements:
                yield from _of_elements(value, key_seed(seed, ELEMENT_SPACE))
        case Kind.STRING:
            yield from _of_text(field, value.encode(errors="surrogatepass"), seed)
        case _ if field.equal:
            yield _of_constant(value, key_seed(seed, EQUAL_SPACE))


def _of_elements(value: Any, seed: int) -> Iterator[int]:
    inside = value if kind_of(value) is Kind.LIST else (key for key, _ in pairs_of(value))
    for element in inside:
        kind = kind_of(element)
        if kind is Kind.STRING:
            yield hash_text(element.encode(errors="surrogatepass"), seed)
        elif kind not in (Kind.LIST, Kind.MAP):
            yield _of_constant(element, seed)


def _of_text(field: Field, text: bytes, seed: int) -> Iterator[int]:
    if field.equal:
        yield hash_text(text, key_seed(seed, EQUAL_SPACE))
    yield from _of_parts(field.starts, text, key_seed(seed, START_SPACE), lambda size: text[:size])
    yield from _of_parts(field.ends, text, key_seed(seed, END_SPACE), lambda size: text[len(text) - size :])
    for size in field.grams:
        for start in range(len(text) - size + 1):
            gram = int.from_bytes(text[start : start + size], "little")
            yield hash_number(gram, GRAM_TAG - size, key_seed(seed, GRAM_SPACE))


def _of_parts(sizes: tuple[int, ...], text: bytes, seed: int, cut: Callable[[int], bytes]) -> Iterator[int]:
    for size in sizes:
        if size <= len(text):
            yield hash_text(cut(size), seed)


def _of_constant(value: Any, seed: int) -> int:
    if value is None or isinstance(value, bool):
        return hash_number(0 if value is None else 1 + value, CONSTANT_TAG, seed)
    (bits,) = struct.unpack("<Q", struct.pack("<d", float(value) + 0.0))
    return hash_number(bits, NUMBER_TAG, seed)
