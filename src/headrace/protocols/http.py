"""HTTP: what a request may be told to look like, and what is Headrace's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import WEB_ADDRESS, any_case
from headrace.documents.forms import Member
from headrace.documents.kinds import Kind, flag, one_of, shown, text, whole
from headrace.protocols.protocol import Protocol
from headrace.protocols.rules import HAS_CREDENTIAL, credential_rule, settings_rule
from headrace.secrets.masks import MASK, is_sensitive
from headrace.secrets.signing_keys import SIGNING, check_signing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults
    from headrace.documents.kinds import Problems
    from headrace.secrets.credential import CredentialType

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_RESERVED_HEADERS = {
    "connection",
    "content-length",
    "content-type",
    "host",
    "prefer",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
}
_MOST_PER_MINUTE = 1_000_000_000
_check_origin = text(253, r"[!-~]+", "a host name such as events.example.com")
_check_rate = whole(1, _MOST_PER_MINUTE)
_WEBHOOK_MEMBERS = {"origin": _check_origin, "rate": _check_rate}
_HEADERS = {
    "type": "object",
    "propertyNames": {
        "pattern": f"^{_TOKEN.pattern}$",
        "not": {"pattern": f"^(?:{'|'.join(map(any_case, ['ce-.*', *sorted(_RESERVED_HEADERS)]))})$"},
    },
    "additionalProperties": {"type": "string", "pattern": f"^{_FIELD_VALUE.pattern}$"},
}
_WEBHOOK = {
    "anyOf": [
        flag.schema,
        {
            "type": "object",
            "properties": {name: kind.schema for name, kind in _WEBHOOK_MEMBERS.items()},
            "additionalProperties": False,
        },
    ]
}


def _check_headers(headers: Any) -> Problems:
    if not isinstance(headers, dict):
        yield "", "has to be a map of header names to strings"
        return
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            yield f".{name}", "is not a header name"
        elif name.lower() in _RESERVED_HEADERS or name.lower().startswith("ce-"):
            yield f".{name}", "is set by Headrace itself"
        if not isinstance(value, str) or not _FIELD_VALUE.fullmatch(value):
            yield f".{name}", "has to be a string without line breaks or control characters"
        elif value == MASK and is_sensitive(name):
            yield f".{name}", "is the mask that stands for a secret when it is shown; give the secret itself"
    if len({name.lower() for name in headers}) < len(headers):
        yield "", "has a name twice; the case of letters makes no difference"


def _check_webhook(value: Any) -> Problems:
    if not isinstance(value, dict):
        if list(flag(value)):
            yield "", f"{shown(value)} is not true, false or an object with origin and rate"
        return
    for name, member in value.items():
        if name not in _WEBHOOK_MEMBERS:
            yield f".{name}", f"unknown member; webhook has: {', '.join(_WEBHOOK_MEMBERS)}"
        else:
            yield from ((f".{name}{path}", problem) for path, problem in _WEBHOOK_MEMBERS[name](member))


def _normal_webhook(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _WEBHOOK_MEMBERS[name].normal(member) for name, member in value.items()}


def _check_credential(settings: Mapping[str, Any], _: CredentialType) -> Faults:
    return [
        (f"protocolsettings.headers.{name}", "sinkCredential sets this header; give one of the two")
        for name in settings.get("headers", {})
        if name.lower() == "authorization"
    ]


_NO_AUTHORIZATION = {
    "if": HAS_CREDENTIAL,
    "then": settings_rule(
        {"properties": {"headers": {"propertyNames": {"not": {"pattern": f"^{any_case('authorization')}$"}}}}}
    ),
}
# Basic authentication can't carry such a name.
_NO_COLON = credential_rule({"identifier": {"not": {"pattern": ":"}}})

HTTP = Protocol(
    address=WEB_ADDRESS,
    settings={
        "method": Member(one_of("POST", "PUT", "PATCH"), "The method of requests.", "POST"),
        "mode": Member(
            one_of("binary", "structured", "batched"),
            "`binary`: attributes as `ce-` headers, data as the body. `structured`: the event as one document, "
            "`application/cloudevents+json`. `batched`: several events as one array, "
            "`application/cloudevents-batch+json`; one answer counts for all of them.",
            "binary",
        ),
        "headers": Member(
            Kind(_HEADERS, _check_headers, "a map of header names to strings"),
            "More headers, the same for every request.",
        ),
        "webhook": Member(
            Kind(
                _WEBHOOK,
                _check_webhook,
                "`true`, `false`, or an object with `origin` and `rate`",
                _normal_webhook,
            ),
            "Ask for consent first.",
        ),
        "signing": Member(
            Kind(SIGNING, check_signing, "keys, `generate` or `generate-ed25519`"), "Sign every request."
        ),
    },
    check_credential=_check_credential,
    rules=(_NO_AUTHORIZATION, _NO_COLON),
)
