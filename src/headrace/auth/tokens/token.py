"""Bearer tokens of OpenID providers: JWTs, verified with the issuer's public keys."""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import jwt

from headrace.auth.grants import granted, roles_among
from headrace.auth.principal import Principal
from headrace.auth.tokens.issuer_keys import KeySet
from headrace.errors import Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.auth.roles import Grants
    from headrace.auth.settings import Issuer

_LONGEST = 16_384
_REMEMBERED = 10_000
# A verified token is trusted for this long without another check, but never longer than it is valid.
_BELIEVED_SECONDS = 300.0
_REASONS: tuple[tuple[type[jwt.PyJWTError], str], ...] = (
    (jwt.ExpiredSignatureError, "the token has expired"),
    (jwt.ImmatureSignatureError, "the token is not valid yet"),
    (jwt.InvalidAudienceError, "the token is meant for somebody else (aud)"),
    (jwt.InvalidIssuerError, "the token is of an issuer that is not trusted here"),
    (jwt.MissingRequiredClaimError, "the token lacks a claim that it needs (exp, iss, aud and sub)"),
    (jwt.InvalidSignatureError, "the token's signature is wrong"),
)
# Raised by the library for claims that are not times, or nested too deeply.
_ODD = (OverflowError, RecursionError, TypeError, ValueError)


class Tokens:
    """Verifies tokens, and caches valid ones by their hash. For one event loop."""

    def __init__(self, issuers: Sequence[Issuer], leeway: float) -> None:
        self._issuers = {issuer.url: (issuer, KeySet(issuer)) for issuer in issuers}
        self._leeway = leeway
        self._good: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()

    def remembered(self, token: str) -> Principal | None:
        """Return the holder of a token that was verified a short while ago."""
        found = self._good.get(hashlib.sha256(token.encode()).digest())
        return found[1] if found is not None and found[0] > time.time() else None

    async def holder(self, token: str) -> Principal:
        """Return the holder of a token, or raise Unauthenticated."""
        if len(token) > _LONGEST:
            raise Unauthenticated(f"the token is longer than {_LONGEST} characters")
        header, claims = _unchecked(token)
        issuer, keys = self._issuers.get(claims.get("iss", ""), (None, None))
        if issuer is None or keys is None:
            raise Unauthenticated("the token is of an issuer that is not trusted here")
        algorithm = header.get("alg")
        if algorithm not in issuer.algorithms:
            raise Unauthenticated("the token is signed with an algorithm that is not accepted")
        claims = self._checked(token, await keys.find(header.get("kid"), str(algorithm)), issuer)
        principal = Principal(f"token:{issuer.url}#{claims['sub']}", grants_of(claims, issuer))
        self._remember(token, claims["exp"], principal)
        return principal

    def _checked(self, token: str, key: jwt.PyJWK, issuer: Issuer) -> dict[str, Any]:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=issuer.audience,
                issuer=issuer.url,
                leeway=self._leeway,
                options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError as error:
            reason = next((text for kind, text in _REASONS if isinstance(error, kind)), "the token is wrong")
            raise Unauthenticated(reason) from error
        except _ODD as error:
            raise Unauthenticated("the token is wrong") from error

    def _remember(self, token: str, expires: float, principal: Principal) -> None:
        until = min(_seconds(expires), time.time() + _BELIEVED_SECONDS)
        self._good[hashlib.sha256(token.encode()).digest()] = until, principal
        while len(self._good) > _REMEMBERED:
            self._good.popitem(last=False)


def grants_of(claims: Mapping[str, Any], issuer: Issuer) -> Grants:
    """Return the grants of a token: from one claim with roles by namespace, or from one for each of the two."""
    if not issuer.roles_claim:
        return granted(claim_at(claims, issuer.claim))
    roles = sorted(roles_among(claim_at(claims, issuer.roles_claim), issuer.role_prefix))
    listed = claim_at(claims, issuer.namespaces_claim)
    namespaces = listed.split() if isinstance(listed, str) else listed if isinstance(listed, list) else []
    return granted({each: roles for each in namespaces if isinstance(each, str)})


def claim_at(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim or a member of one (`realm_access.roles`); None if there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _seconds(expires: Any) -> float:
    """Return when a verified token expires; a number too large for a float means never."""
    try:
        return float(expires)
    except OverflowError:
        return math.inf


def _unchecked(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of a token. Be careful: nothing of it is verified yet."""
    try:
        decoded = jwt.decode_complete(token, options={"verify_signature": False})
    except (jwt.PyJWTError, *_ODD) as error:
        raise Unauthenticated("this is neither an API key nor a token") from error
    header, claims = decoded["header"], decoded["payload"]
    if not isinstance(claims.get("iss"), str) or not isinstance(header.get("kid", ""), str):
        raise Unauthenticated("the token doesn't say who issued it")
    return header, claims
