"""The packets of MQTT 3.1.1 and 5 that a publisher writes and reads. Pure functions, no sockets.

What a server may send is bounded here: nothing that a publisher is told needs more than a few kilobytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LARGEST_READ = 1 << 18
_LONGEST_TEXT = 65_535
_LARGEST_WRITTEN = 268_435_455
_CLEAN, _USER, _PASSWORD = 0x02, 0x80, 0x40


class Version(IntEnum):
    """The protocol level that a connection begins with."""

    V3 = 4
    V5 = 5


class Packet(IntEnum):
    """The first half of a packet's first byte."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


class Property(IntEnum):
    """The properties that are written or acted on; others are read over."""

    MESSAGE_EXPIRY = 0x02
    CONTENT_TYPE = 0x03
    SERVER_KEEP_ALIVE = 0x13
    REASON_STRING = 0x1F
    RECEIVE_MAXIMUM = 0x21
    MAXIMUM_QOS = 0x24
    RETAIN_AVAILABLE = 0x25
    USER_PROPERTY = 0x26
    MAXIMUM_PACKET_SIZE = 0x27


_NUMBERS = {
    **dict.fromkeys((0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), "!B"),
    **dict.fromkeys((0x13, 0x21, 0x22, 0x23), "!H"),
    **dict.fromkeys((0x02, 0x11, 0x18, 0x27), "!I"),
}
_TEXTS = {0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F}
_BYTES = {0x09, 0x16}

PINGREQ = bytes((Packet.PINGREQ << 4, 0))
DISCONNECT = bytes((Packet.DISCONNECT << 4, 0))


class Malformed(ValueError):
    """What a server sent is no MQTT."""


class TooLong(ValueError):
    """A text or a packet is longer than MQTT can write."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said: to a connection, to a publication, or when it ends the connection."""

    packet_id: int = 0
    code: int = 0
    properties: dict[int, Any] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The server's own words, where it has any."""
        return str(self.properties.get(Property.REASON_STRING, ""))


def connect(
    version: Version, client_id: str, keep_alive: int, user: str | None, password: str | None
) -> bytes:
    """Ask for a session that ends with the connection."""
    flags = _CLEAN | (_USER if user is not None else 0) | (_PASSWORD if password is not None else 0)
    body = _text("MQTT") + struct.pack("!BBH", version, flags, keep_alive)
    body += b"\0" if version is Version.V5 else b""
    body += b"".join(_text(each) for each in (client_id, user, password) if each is not None)
    return _packet(Packet.CONNECT, 0, body)


def publish_properties(
    content_type: str | None, user_properties: Iterable[tuple[str, str]], expiry: int | None
) -> bytes:
    """Write what MQTT 5 says about a publication, with its length in front."""
    out = bytearray()
    if expiry is not None:
        out += struct.pack("!BI", Property.MESSAGE_EXPIRY, expiry)
    if content_type is not None:
        out += bytes((Property.CONTENT_TYPE,)) + _text(content_type)
    for name, value in user_properties:
        out += bytes((Property.USER_PROPERTY,)) + _text(name) + _text(value)
    return _length(len(out)) + bytes(out)


def publish(
    topic: str, qos: int, packet_id: int, properties: bytes, payload: bytes, *, retain: bool
) -> bytes:
    """Write a publication; `properties` is empty in MQTT 3.1.1, which has none."""
    identifier = struct.pack("!H", packet_id) if qos else b""
    return _packet(Packet.PUBLISH, qos << 1 | retain, _text(topic) + identifier + properties + payload)


def pubrel(packet_id: int) -> bytes:
    """Write the third of the four packets of QoS 2."""
    return struct.pack("!BBH", Packet.PUBREL << 4 | 2, 2, packet_id)


def take_packets(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Take whole packets off a buffer: their type and what follows the length. Raise Malformed."""
    while (head := _head(buffer)) is not None:
        start, length = head
        if len(buffer) < start + length:
            return
        kind, body = buffer[0] >> 4, bytes(buffer[start : start + length])
        del buffer[: start + length]
        yield kind, body


def read_connack(version: Version, body: bytes) -> Answer:
    """Read the answer to `connect`."""
    if len(body) < 2:
        raise Malformed("a CONNACK that is too short")
    return Answer(0, body[1], _properties(body, 2) if version is Version.V5 else {})


def read_acknowledgement(version: Version, body: bytes) -> Answer:
    """Read PUBACK, PUBREC or PUBCOMP; a code and properties that are left out mean success."""
    if len(body) < 2:
        raise Malformed("an acknowledgement that is too short")
    [packet_id] = struct.unpack_from("!H", body)
    if version is Version.V3 or len(body) == 2:
        return Answer(packet_id)
    return Answer(packet_id, body[2], _properties(body, 3))


def read_disconnect(body: bytes) -> Answer:
    """Read why an MQTT 5 server ends the connection."""
    return Answer(0, body[0], _properties(body, 1)) if body else Answer()


def _packet(kind: Packet, flags: int, body: bytes) -> bytes:
    return bytes((kind << 4 | flags,)) + _length(len(body)) + body


def _text(text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) > _LONGEST_TEXT:
        raise TooLong(f"a text of {len(encoded)} bytes, and MQTT can write {_LONGEST_TEXT}: {text[:40]!r}…")
    return struct.pack("!H", len(encoded)) + encoded


def _length(length: int) -> bytes:
    if length > _LARGEST_WRITTEN:
        raise TooLong(f"a packet of {length} bytes, and MQTT can write {_LARGEST_WRITTEN}")
    out = bytearray()
    while True:
        length, digit = length >> 7, length & 0x7F
        out.append(digit | (0x80 if length else 0))
        if not length:
            return bytes(out)


def _head(buffer: bytearray) -> tuple[int, int] | None:
    """Return where a packet's content begins and its length, or None where they aren't there yet."""
    if len(buffer) < 2:
        return None
    try:
        start, length = _read_length(buffer, 1)
    except IndexError:
        return None
    if length > _LARGEST_READ:
        raise Malformed(f"a packet of {length} bytes")
    return start, length


def _read_length(buffer: bytes | bytearray, start: int) -> tuple[int, int]:
    length = shift = 0
    while True:
        digit = buffer[start]
        start, length = start + 1, length | (digit & 0x7F) << shift
        if digit < 0x80:
            return start, length
        shift += 7
        if shift > 21:
            raise Malformed("a length of more than four bytes")


def _properties(body: bytes, start: int) -> dict[int, Any]:
    if len(body) <= start:
        return {}
    try:
        start, length = _read_length(body, start)
        end, found = start + length, dict[int, Any]()
        while start < end:
            name = body[start]
            found[name], start = _value(body, start + 1, name)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise Malformed(f"properties that can't be read: {error}") from None
    return found


def _value(body: bytes, start: int, name: int) -> tuple[Any, int]:
    if name in _NUMBERS:
        [number] = struct.unpack_from(_NUMBERS[name], body, start)
        return number, start + struct.calcsize(_NUMBERS[name])
    if name == Property.USER_PROPERTY:
        key, start = _sized(body, start)
        value, start = _sized(body, start)
        return (key.decode(), value.decode()), start
    if name in _TEXTS or name in _BYTES:
        content, start = _sized(body, start)
        return content.decode() if name in _TEXTS else content, start
    raise Malformed(f"a property 0x{name:02x} that MQTT 5 doesn't have here")


def _sized(body: bytes, start: int) -> tuple[bytes, int]:
    [length] = struct.unpack_from("!H", body, start)
    end = start + 2 + length
    if end > len(body):
        raise Malformed("a text that is longer than its packet")
    return body[start + 2 : end], end
