"""PULL, an extension of Headrace's: nothing is sent, events wait until a consumer asks for them."""

from __future__ import annotations

from headrace.documents.addresses import AddressForm
from headrace.documents.forms import Member
from headrace.documents.kinds import one_of, whole
from headrace.protocols.protocol import Protocol

NAME = "PULL"

KEEP, DROP = "dead-letter", "drop"
"""What becomes of events that nobody asked for in time."""

_LONGEST_LEASE = 43_200

PULL = Protocol(
    address=AddressForm((), "no sink"),
    has_sink=False,
    credentials=(),
    settings={
        "lease": Member(
            whole(1, _LONGEST_LEASE),
            "For how many seconds a consumer holds what it was handed, unless it acknowledges it before.",
            30,
        ),
        "expired": Member(
            one_of(KEEP, DROP),
            f"What becomes of events that nobody pulled in time. `{KEEP}`: they are dead letters. `{DROP}`: they are "
            f"gone.",
            KEEP,
        ),
    },
    delivery=("ordering",),
)
