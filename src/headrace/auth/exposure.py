"""A guard against serving other machines without authentication by accident."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from headrace.auth.settings import AuthSettings


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address; of names only `localhost` counts."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_exposure(host: str, settings: AuthSettings) -> None:
    """Refuse to listen on a reachable address without authentication, unless the operator insists."""
    if settings.is_on or settings.insist or is_loopback(host):
        return
    raise ConfigError(
        f"api.host is {host!r}, which other machines can reach, and auth.mode is off: anybody could read and change "
        'everything. Set auth.mode = "on" (HEADRACE_AUTH_MODE=on) and make a key with '
        "`headrace keys create --role admin --namespace '*' --name first`; or listen on 127.0.0.1; or, where something "
        "else keeps strangers out, set auth.insist = true (HEADRACE_AUTH_INSIST=true)"
    )


def describe(host: str, settings: AuthSettings) -> str:
    """Describe in a sentence who is let in."""
    if settings.is_on:
        whose = "API keys" + (f" and tokens of {len(settings.issuers)} issuer(s)" if settings.issuers else "")
        publishing = "; events are taken from anybody" if settings.open_publishing else ""
        return f"authentication is on: {whose}{publishing}"
    if is_loopback(host):
        return "authentication is off: whoever is on this machine may do everything"
    return f"authentication is OFF on {host}, by auth.insist: whoever reaches it may do everything"
