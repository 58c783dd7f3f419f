"""Whom a delivery over TLS trusts: the system's authorities, and those of a file."""

from __future__ import annotations

import ssl

from headrace.errors import ConfigError


def tls_context(ca_file: str = "", alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
    """Return a context that verifies certificates and host names; ConfigError if the file can't be used."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:  # SSLError is one
            raise ConfigError(
                f"delivery.ca_file is {ca_file!r}, which can't be used: {error}; it has to hold certificates in PEM"
            ) from None
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context
