"""What a subscription may say about its delivery protocol: one table, one checker per protocol.

The protocols themselves are in `delivery`; what can be refused at creation is refused by what stands here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Faults = list[tuple[str, str]]
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")
_METHODS = ("POST", "PUT", "PATCH")
_MODES = ("binary", "structured")
_RESERVED_HEADERS = {
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
HTTP_DEFAULTS: dict[str, Any] = {"method": "POST", "mode": "binary"}


def check_sink(protocol: str, sink: object) -> Faults:
    """Tell what is wrong with the address, for this protocol."""
    if not isinstance(sink, str) or not sink:
        return [("sink", "is required and has to be a URI")]
    try:
        parts = urlsplit(sink)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        return [("sink", f"{sink!r} is not a URI: {error}")]
    if re.search(r"[\s\x00-\x1f\x7f]", sink) or not usable:
        return [
            ("sink", f"{sink!r} does not fit protocol {protocol}: it takes http://host/… or https://host/…")
        ]
    if parts.username is not None or parts.password is not None:
        return [
            ("sink", "a URI with a user name or password would be shown to everyone who lists subscriptions")
        ]
    return []


def _check_http(settings: Mapping[str, Any]) -> Faults:
    faults = [
        (
            f"protocolsettings.{key}",
            f"unknown setting; HTTP has: {', '.join(sorted({*HTTP_DEFAULTS, 'headers'}))}",
        )
        for key in settings
        if key not in {*HTTP_DEFAULTS, "headers"}
    ]
    for key, allowed in (("method", _METHODS), ("mode", _MODES)):
        if key in settings and settings[key] not in allowed:
            faults.append(
                (f"protocolsettings.{key}", f"{settings[key]!r} is not one of {', '.join(allowed)}")
            )
    return faults + _check_headers(settings.get("headers", {}))


def _check_headers(headers: object) -> Faults:
    if not isinstance(headers, dict):
        return [("protocolsettings.headers", "has to be a map of header names to strings")]
    faults = []
    for name, value in headers.items():
        path = f"protocolsettings.headers.{name}"
        if not _TOKEN.fullmatch(name):
            faults.append((path, "is not a header name"))
        elif name.lower() in _RESERVED_HEADERS or name.lower().startswith("ce-"):
            faults.append((path, "is set by Headrace itself"))
        if not isinstance(value, str) or not _FIELD_VALUE.fullmatch(value):
            faults.append((path, "has to be a string without line breaks or control characters"))
    return faults


PROTOCOLS: dict[str, Callable[[Mapping[str, Any]], Faults]] = {"HTTP": _check_http}


def check_protocol(protocol: object, settings: object) -> Faults:
    """Tell what is wrong with the protocol's name (case matters) or its settings."""
    if not isinstance(protocol, str) or protocol not in PROTOCOLS:
        return [
            ("protocol", f"{protocol!r} is not supported; this service delivers over: {', '.join(PROTOCOLS)}")
        ]
    if not isinstance(settings, dict):
        return [("protocolsettings", "has to be an object")]
    return PROTOCOLS[protocol](settings)
