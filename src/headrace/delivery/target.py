"""Where an attempt goes: a subscription's sink, its reply address or its dead-letter sink."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.subscriptions.credential import Plain, Token


@dataclass(frozen=True, slots=True)
class Target:
    """Everything that a sender has to know.

    `owner` is the subscription: connections that carry its credential or its settings are its own. `settings` are the
    protocol's, with defaults applied. `credential` is good at this moment; a sender asks for no other. `wants_reply`:
    an event that the sink answers with has somewhere to go.
    """

    owner: str
    protocol: str
    uri: str
    settings: Mapping[str, Any]
    timeout: float
    credential: Plain | Token | None = None
    signing: tuple[str, ...] = field(default=(), repr=False)
    wants_reply: bool = False
