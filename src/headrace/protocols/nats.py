"""NATS: a subject of dotted names. With `jetstream` a delivery waits until a stream has stored the message."""

from __future__ import annotations

from headrace.documents.addresses import AddressForm
from headrace.protocols.kinds import flag, one_of, text
from headrace.protocols.protocol import Protocol, Setting

_NAME = r"[^\s.*>\x00-\x1f\x7f\x85\ufeff]+"
_SUBJECT = rf"{_NAME}(\.{_NAME})*"


NATS = Protocol(
    address=AddressForm(("nats", "tls"), "nats://host:port,host:port, or tls:// for TLS", several_hosts=True),
    target="subject",
    settings={
        "subject": Setting(
            text(1024, _SUBJECT, "a subject (names joined by dots; no spaces, no wildcards * and >)")
        ),
        "jetstream": Setting(flag, default=False),
        "mode": Setting(one_of("binary", "structured"), "binary"),
    },
)
