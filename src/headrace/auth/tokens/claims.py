"""From the claims of a token to grants, as the issuer's settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.auth.grants import granted, roles_among

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.auth.roles import Grants
    from headrace.auth.settings import Issuer


def grants_of(claims: Mapping[str, Any], issuer: Issuer) -> Grants:
    """Read one claim that has roles by namespace; or the roles from one claim and the namespaces from another."""
    if not issuer.roles_claim:
        return granted(claim_at(claims, issuer.claim))
    roles = sorted(roles_among(claim_at(claims, issuer.roles_claim), issuer.role_prefix))
    listed = claim_at(claims, issuer.namespaces_claim)
    namespaces = listed.split() if isinstance(listed, str) else listed if isinstance(listed, list) else []
    return granted({each: roles for each in namespaces if isinstance(each, str)})


def claim_at(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim, or a member of one (`realm_access.roles`); None where there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
