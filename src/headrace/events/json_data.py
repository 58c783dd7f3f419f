"""The members `data` and `data_base64` of the JSON event format, read and written.

What was read is written the same way; bytes that came otherwise get the member that leaves the event's
attributes alone. `json_format` states the cases.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import InvalidEvent
from headrace.events.attributes import shown
from headrace.events.event import DataKind, Event
from headrace.events.media_types import charset, is_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_read_slice = msgspec.json.Decoder(msgspec.Raw).decode
_read_value = msgspec.json.Decoder().decode

_NULL = b"null"
_UTF_8 = (None, "utf-8", "utf8", "us-ascii")


def read(
    data: msgspec.Raw | None, data_base64: msgspec.Raw | None, attributes: Mapping[str, Any]
) -> tuple[bytes | None, DataKind]:
    """Turn the members into data and the way it came. Raise `InvalidEvent` if they can't be understood.

    The attributes may be invalid themselves.
    """
    raw = None if data is None else bytes(data)
    if data_base64 is not None and (encoded := bytes(data_base64)) != _NULL:
        return _read_bytes(raw, encoded, attributes), DataKind.BYTES
    if raw is None:
        return None, DataKind.BYTES
    if _in_base64(attributes):
        text = _string("data", raw)
        _from_base64("data", text)
        return text.encode(), DataKind.TEXT
    media_type = attributes.get("datacontenttype")
    if not isinstance(media_type, str) or is_json(media_type):
        return raw, DataKind.JSON
    if raw.startswith(b'"'):
        return _string("data", raw).encode(), DataKind.TEXT
    return (None, DataKind.BYTES) if raw == _NULL else (raw, DataKind.JSON)


def write(event: Event, data: bytes) -> dict[str, Any]:
    """Return the members that carry `data`, the data of `event`."""
    if event.data_kind is DataKind.JSON:
        return {"data": msgspec.Raw(data)}
    if event.data_kind is DataKind.TEXT and (text := _text(data)) is not None:
        return {"data": text}
    return (
        _write_bytes_0_3(event, data)
        if event.attributes.get("specversion") == "0.3"
        else _write_bytes(event, data)
    )


def bytes_meant(event: Event) -> bytes | None:
    """Return the bytes that the base64 text of a 0.3 event stands for, or `None` if it has no such text."""
    if event.data_kind is not DataKind.TEXT or event.data is None or not _in_base64(event.attributes):
        return None
    try:
        return _from_base64("data", event.data.decode())
    except (UnicodeDecodeError, InvalidEvent):
        return None


def _read_bytes(raw: bytes | None, encoded: bytes, attributes: Mapping[str, Any]) -> bytes:
    if attributes.get("specversion") == "0.3":
        raise InvalidEvent(
            ["'data_base64' does not exist in CloudEvents 0.3: use 'data' with datacontentencoding 'base64'"]
        )
    if raw is not None and raw != _NULL:
        raise InvalidEvent(["'data' and 'data_base64' exclude each other"])
    return _from_base64("data_base64", _string("data_base64", encoded))


def _string(member: str, raw: bytes) -> str:
    if not raw.startswith(b'"'):
        raise InvalidEvent([f"'{member}' must be a string of base64: {shown(raw.decode())}"])
    text: str = _read_value(raw)
    return text


def _from_base64(member: str, text: str) -> bytes:
    # RFC 2045, to which CloudEvents 0.3 refers, breaks base64 into lines; the 1.0 member has none.
    packed = "".join(text.split()) if member == "data" else text
    try:
        return base64.b64decode(packed, validate=True)
    except ValueError as error:
        raise InvalidEvent([f"'{member}' is not base64 ({error}): {shown(text)}"]) from None


def _in_base64(attributes: Mapping[str, Any]) -> bool:
    encoding = attributes.get("datacontentencoding")
    return (
        isinstance(encoding, str) and encoding.lower() == "base64" and attributes.get("specversion") == "0.3"
    )


def _write_bytes(event: Event, data: bytes) -> dict[str, Any]:
    if _is_json_document(event, data):
        return {"data": msgspec.Raw(data)}
    return {"data_base64": base64.b64encode(data).decode()}


def _write_bytes_0_3(event: Event, data: bytes) -> dict[str, Any]:
    if not _in_base64(event.attributes):
        if _is_json_document(event, data):
            return {"data": msgspec.Raw(data)}
        if (text := _declared_text(event, data)) is not None:
            return {"data": text}
    return {"data": base64.b64encode(data).decode(), "datacontentencoding": "base64"}


def _is_json_document(event: Event, data: bytes) -> bool:
    if not is_json(event.datacontenttype) or _text(data) is None:
        return False
    try:
        _read_slice(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _declared_text(event: Event, data: bytes) -> str | None:
    media_type = event.datacontenttype
    if media_type is None or is_json(media_type) or charset(media_type) not in _UTF_8:
        return None
    return _text(data)


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
