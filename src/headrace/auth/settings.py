"""Settings of authentication and the audit log; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta, Struct

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
]  # fmt: skip
"""Public-key algorithms only. With a shared-secret algorithm the public key could be used as the secret, and `none`
takes no key at all, so neither can be configured."""

_Address = Annotated[str, Meta(pattern=r"^https?://[^\s/?#]+[^\s?#]*$")]
_Name = Annotated[str, Meta(min_length=1)]
_Seconds = Annotated[float, Meta(ge=0)]


class Issuer(Struct, frozen=True, forbid_unknown_fields=True):
    """An OpenID provider whose tokens are accepted, and how its claims map to roles."""

    url: _Address
    audience: _Name
    jwks: str = ""
    algorithms: tuple[Algorithm, ...] = ("RS256", "PS256", "ES256", "EdDSA")
    claim: str = "headrace"
    roles_claim: str = ""
    role_prefix: str = ""
    namespaces_claim: str = ""


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Whether callers must authenticate, and by which keys and issuers."""

    mode: Literal["off", "on"]
    insist: bool
    open_publishing: bool
    open_metrics: bool
    admin_keys: tuple[str, ...] = field(repr=False)
    issuers: tuple[Issuer, ...]
    leeway_seconds: _Seconds
    audit: bool
    audit_retention_seconds: _Seconds

    @property
    def is_on(self) -> bool:
        """Whether callers must authenticate."""
        return self.mode == "on"
