"""What authorises deliveries at a sink. Neither secrets nor identifiers appear in a representation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class CredentialType(StrEnum):
    """The types that the Subscriptions API defines."""

    PLAIN = "PLAIN"
    ACCESSTOKEN = "ACCESSTOKEN"
    REFRESHTOKEN = "REFRESHTOKEN"


@dataclass(frozen=True, slots=True)
class Plain:
    """A name and a password, passphrase or key."""

    identifier: str = field(repr=False)
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Token:
    """An access token of a type such as `Bearer`; it `expires` at these seconds since the epoch."""

    type: str
    value: str = field(repr=False)
    expires: float


@dataclass(frozen=True, slots=True)
class Refreshable:
    """A token, and what the next one is got with. Senders are given the token alone."""

    token: Token
    refresh_token: str = field(repr=False)
    endpoint: str


Credential = Plain | Token | Refreshable
