"""Sink addresses of brokers, taken apart: hosts with ports, and the path."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit


def hosts_of(uri: str, default_port: int) -> tuple[tuple[str, int], ...]:
    """Return each host with its port: an address may name several servers of one cluster."""
    return tuple(_host(each, default_port) for each in urlsplit(uri).netloc.split(","))


def path_of(uri: str) -> str:
    """Return what follows the hosts, decoded, without the slash it begins with."""
    return unquote(urlsplit(uri).path.removeprefix("/"))


def _host(netloc: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{netloc}")
    return parts.hostname or "", parts.port or default_port
