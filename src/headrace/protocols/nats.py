"""NATS: a subject of dotted names. With `jetstream` a delivery waits until a stream has stored the message."""

from __future__ import annotations

from headrace.documents.addresses import AddressForm
from headrace.documents.forms import Member
from headrace.documents.kinds import flag, one_of, text
from headrace.protocols.protocol import Protocol

_NAME = r"[^\s.*>\x00-\x1f\x7f\x85\ufeff]+"
_SUBJECT = rf"{_NAME}(\.{_NAME})*"


NATS = Protocol(
    address=AddressForm(("nats", "tls"), "nats://host:port,host:port, or tls:// for TLS", several_hosts=True),
    target="subject",
    settings={
        "subject": Member(
            text(1024, _SUBJECT, "a subject (names joined by dots; no spaces, no wildcards * and >)"),
            "Where to publish. Required.",
        ),
        "jetstream": Member(
            flag,
            "`true`: done when a stream has stored the message. `false`: done when the server has it; core NATS "
            "hands it to those who listen at that moment, and keeps nothing.",
            default=False,
        ),
        "mode": Member(
            one_of("binary", "structured"),
            "`binary`: `ce-` headers, `ce-datacontenttype` among them, percent-encoded as in HTTP. `structured`: a "
            "JSON document, and the header `content-type`.",
            "binary",
        ),
    },
)
