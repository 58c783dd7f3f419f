"""Errors of delivery: sinks, their addresses and their credentials."""

from __future__ import annotations

from headrace.errors.base import HeadraceError


class CredentialUnusable(HeadraceError):
    """Nothing can be sent with a subscription's credential; asking again makes sense after `retry_after` seconds."""

    code = "credential-unusable"

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class RefreshFailed(HeadraceError):
    """No token was got. `is_final` says that the refresh token itself is not accepted."""

    code = "refresh-failed"

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class NoDispatcher(HeadraceError):
    """Only dispatchers reach sinks, and none did within `seconds` what it was asked for."""

    code = "no-dispatcher"
    http_status = 503

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"no dispatcher answered within {seconds:g} s; see GET /readyz whether one runs, then try again"
        )
        self.seconds = seconds


class RefusedAddress(HeadraceError):
    """An address outside the public internet that no operator has allowed.

    `host` is what was asked for, `address` what it led to, `rule` what that address is. `literal`: the host is the
    address itself, so that asking again can't change anything.
    """

    code = "refused-address"

    def __init__(self, address: str, rule: str, host: str, *, literal: bool) -> None:
        found = address if host == address else f"{address}, which {host!r} leads to,"
        super().__init__(
            f"{found} is {rule}: nothing is delivered there unless delivery.allow_networks has its range"
        )
        self.address = address
        self.rule = rule
        self.host = host
        self.literal = literal
