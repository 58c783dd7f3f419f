"""NATS: a subject of dotted names. With `jetstream` a delivery waits until a stream has stored the message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.subscriptions.protocols.kinds import flag, one_of, text
from headrace.subscriptions.protocols.protocol import Protocol, Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.subscriptions.faults import Faults
    from headrace.subscriptions.protocols.addresses import Address

_SUBJECT = r"[^\s.*>]+(\.[^\s.*>]+)*"


def _check_address(address: Address, settings: Mapping[str, Any]) -> Faults:
    faults: Faults = []
    if address.path:
        faults.append(("sink", "has a path; name the subject in protocolsettings.subject"))
    if "subject" not in settings:
        faults.append(("protocolsettings.subject", "is required"))
    return faults


NATS = Protocol(
    schemes=("nats", "tls"),
    example="nats://host:port,host:port, or tls:// for TLS",
    several_hosts=True,
    settings={
        "subject": Setting(
            text(1024, _SUBJECT, "a subject (names joined by dots; no spaces, no wildcards * and >)")
        ),
        "jetstream": Setting(flag, default=False),
        "mode": Setting(one_of("binary", "structured"), "binary"),
    },
    check_address=_check_address,
)
