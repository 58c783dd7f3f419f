"""Errors of who asks: identity, permission and quotas."""

from __future__ import annotations

from typing import Any

from headrace.errors.base import HeadraceError, Temporary, quoted


class Unauthenticated(HeadraceError):
    """It is not known who is asking. `reason` is empty where they said nothing about it."""

    code = "unauthenticated"
    http_status = 401

    def __init__(self, reason: str = "") -> None:
        what = f"{reason}; send" if reason else "this needs"
        super().__init__(f"{what} an API key or a token: Authorization: Bearer …")
        self.reason = reason

    @property
    def challenge(self) -> str:
        """What stands in `WWW-Authenticate` (RFC 6750)."""
        fault = f', error="invalid_token", error_description="{self.reason}"' if self.reason else ""
        return f'Bearer realm="headrace"{fault}'

    def headers(self) -> dict[str, str]:
        """Return how to say who is asking."""
        return {"www-authenticate": self.challenge}


class CrossOrigin(HeadraceError):
    """A page of another origin lets a browser ask for a change."""

    code = "cross-origin"
    http_status = 403

    def __init__(self) -> None:
        super().__init__(
            "a browser sends this for a page of another origin, which may not change anything here"
        )


class WrongHost(HeadraceError):
    """The request names a host that isn't this service, so it may be meant for somebody else."""

    code = "wrong-host"
    http_status = 421

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{quoted(host)} is no name of this service; use localhost or the address it listens on, or add the name "
            "to api.allowed_hosts (HEADRACE_API_ALLOWED_HOSTS)"
        )
        self.host = host


class Forbidden(HeadraceError):
    """Whoever asks may not do this; `role` is what it takes, and where."""

    code = "forbidden"
    http_status = 403

    def __init__(self, who: str, role: str, namespace: str) -> None:
        where = "every namespace (*)" if namespace == "*" else f"namespace {namespace!r}"
        super().__init__(f"{who} may not do this: it takes the role '{role}' in {where}")
        self.role = role
        self.namespace = namespace


class QuotaExceeded(HeadraceError):
    """Nothing was made: the namespace has as much as it may have, or the filters cost more than they may."""

    code = "quota-exceeded"
    http_status = 403

    def __init__(self, namespace: str, quota: str, limit: int, current: int, remedy: str) -> None:
        super().__init__(
            f"namespace {namespace!r} has a quota {quota} of {limit}, and this would make it {current}; {remedy}, "
            f"or let an operator raise it: headrace quotas set {namespace}"
        )
        self.namespace, self.quota, self.limit, self.current = namespace, quota, limit, current

    def members(self) -> dict[str, Any]:
        """Return the quota, its limit, and what it would have become."""
        return {"quota": self.quota, "limit": self.limit, "current": self.current}


class RateExceeded(Temporary):
    """Nothing was stored; the same events may be sent again after `retry_after` seconds."""

    code = "rate-exceeded"
    http_status = 429

    def __init__(self, namespace: str, limit: float, retry_after: int) -> None:
        super().__init__(
            f"namespace {namespace!r} may send {limit:g} events a second and sends more; nothing was stored, "
            f"try again in {retry_after} s, or let an operator raise it: headrace quotas set {namespace}"
        )
        self.namespace, self.limit, self.retry_after = namespace, limit, retry_after


class IssuerUnavailable(Temporary):
    """Tokens of an issuer can't be checked until its keys can be had."""

    code = "issuer-unavailable"

    def __init__(self, issuer: str, reason: str, retry_after: int = 10) -> None:
        super().__init__(
            f"the keys of {issuer} can't be had ({reason}), so its tokens can't be checked; "
            f"try again in {retry_after} s"
        )
        self.issuer, self.retry_after = issuer, retry_after
