"""What is sent over HTTP: events, credential and signatures as one request, whatever version carries it."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.delivery.sinks.signatures import message_id, signature_headers
from headrace.events.json_format import BATCH_MEDIA_TYPE
from headrace.secrets.credential import Plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.secrets.credential import Token

Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Request:
    """One request, with all that it takes to send it."""

    method: str
    uri: str
    headers: Headers
    body: bytes


def requests_for(target: Target, payloads: Sequence[Payload]) -> Iterator[Request]:
    """Write the payloads as requests: one, unless a batch mixes versions of CloudEvents, which it may not."""
    settings = target.settings
    if settings["mode"] != "batched":
        [payload] = payloads
        message = payload.message(settings["mode"])
        yield _request(target, payloads, message.headers, message.body)
        return
    for alike in _by_version(payloads):
        body = b"[" + b",".join(payload.message("structured").body for payload in alike) + b"]"
        yield _request(target, alike, [("content-type", BATCH_MEDIA_TYPE)], body)


def authorization(credential: Plain | Token) -> tuple[str, str]:
    """Return the header that a credential becomes."""
    if isinstance(credential, Plain):
        pair = f"{credential.identifier}:{credential.secret}".encode()
        return ("authorization", "Basic " + base64.b64encode(pair).decode())
    return ("authorization", f"{credential.type} {credential.value}")


def _request(target: Target, payloads: Sequence[Payload], of_the_event: Headers, body: bytes) -> Request:
    settings = target.settings
    headers = [*settings.get("headers", {}).items(), *of_the_event]
    if target.credential is not None:
        headers.append(authorization(target.credential))
    if target.wants_reply:
        headers.append(("prefer", "reply"))
    if target.signing:
        headers += signature_headers(target.signing, message_id(target.owner, payloads), time.time(), body)
    return Request(settings.get("method", "POST"), target.uri, headers, body)


def _by_version(payloads: Sequence[Payload]) -> list[list[Payload]]:
    versions: dict[object, list[Payload]] = {}
    for payload in payloads:
        version = payload.recorded.arrival.event.attributes.get("specversion")
        versions.setdefault(version, []).append(payload)
    return list(versions.values())
