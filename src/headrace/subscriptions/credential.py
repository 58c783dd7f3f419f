"""What authorises deliveries at a sink. Secrets never appear in a representation."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Plain:
    """A name and a password, passphrase or key."""

    identifier: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Token:
    """An access token of a type such as `Bearer`; it `expires` at these seconds since the epoch."""

    type: str
    value: str = field(repr=False)
    expires: float
