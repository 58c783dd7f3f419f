"""What this service can do, for programs that have to find out: from the tables that the checks use.

The registry's form is that of xRegistry's endpoints: each channel has one that takes events (`producer`) and one that
takes subscriptions (`subscriber`). Channels have no history, so there are neither epochs nor times in it.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headrace.api.access.access import access_of
from headrace.api.openapi.proposals import settings_schema
from headrace.api.requests.documents import json_of, json_response
from headrace.api.requests.threads import compute
from headrace.api.subscriptions.capabilities import COLLECTION, supported
from headrace.errors import NotFound
from headrace.events.bindings.http import Mode
from headrace.events.json_format import BATCH_MEDIA_TYPE, MEDIA_TYPE
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.dialects.table import DIALECTS
from headrace.protocols import PROTOCOLS
from headrace.secrets.credential_document import MEMBERS as CREDENTIALS
from headrace.subscriptions.channels.config_keys import OWN_TYPES
from headrace.subscriptions.delivery.members import MEMBERS as DELIVERY

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.requests.documents import Handler
    from headrace.api.settings import ApiSettings
    from headrace.protocols.protocol import Protocol
    from headrace.subscriptions.channels.document import Channel
    from headrace.subscriptions.store.store import Store

_ENDPOINTS = "/api/discovery/endpoints"


class Discovery:
    """The handlers. The store's calls block, so they run in threads. `address` is where this service is reached."""

    def __init__(self, store: Store, settings: ApiSettings, address: str) -> None:
        self._store = store
        self._settings = settings
        self._address = address

    def served(self) -> dict[str, dict[str, Handler]]:
        """List what is served, and by which methods."""
        return {
            "/api/discovery": {"GET": self.discover},
            _ENDPOINTS: {"GET": self.endpoints},
            _ENDPOINTS + "/{id}": {"GET": self.endpoint},
        }

    async def discover(self, _: Request) -> Response:
        """List operations, dialects, protocols with their settings, credentials, and limits."""
        return json_response(
            supported()
            | {
                "service": {"name": "headrace", "version": version("headrace")},
                "dialects": {name: _dialect(name) for name in DIALECTS},
                "protocols": {name: _protocol(each) for name, each in PROTOCOLS.items()},
                "credentials": {type_: list(members) for type_, members in CREDENTIALS.items()},
                "delivery": {name: member.schema for name, member in DELIVERY.items()},
                "subscriptionconfig": OWN_TYPES,
                "contentmodes": _content_modes(),
                "limits": {"filters": asdict(DEFAULT_LIMITS), "api": self._limits()},
            }
        )

    async def endpoints(self, request: Request) -> Response:
        """Describe the channels as a registry of endpoints, by their ids."""
        registry = await self._registry(request)
        return await json_of(lambda: registry)

    async def endpoint(self, request: Request) -> Response:
        """Describe one endpoint."""
        id_, found = request.path_params["id"], await self._registry(request)
        if id_ not in found:
            raise NotFound("endpoint", id_)
        return json_response(found[id_])

    async def _registry(self, request: Request) -> dict[str, Any]:
        seen = await asyncio.to_thread(self._store.every_channel, access_of(request).namespaces)
        return await compute(
            lambda: {id_: each for channel in seen for id_, each in _endpoints(channel, self._address)}
        )

    def _limits(self) -> dict[str, int]:
        return {
            "eventBytes": self._settings.max_event_bytes,
            "batchBytes": self._settings.max_batch_bytes,
            "documentBytes": self._settings.max_document_bytes,
        }


def _dialect(name: str) -> dict[str, Any]:
    """Tell under which other name the same dialect goes, if it does."""
    return {
        "aliases": [other for other, parse in DIALECTS.items() if parse is DIALECTS[name] and other != name]
    }


def _protocol(protocol: Protocol) -> dict[str, Any]:
    return {
        "sink": protocol.address.example,
        "schemes": list(protocol.address.schemes),
        "settings": settings_schema(protocol)["properties"],
        "credentialtypes": list(protocol.credentials),
    }


def _content_modes() -> dict[str, Any]:
    media_types = {Mode.STRUCTURED: MEDIA_TYPE, Mode.BATCHED: BATCH_MEDIA_TYPE}
    return {mode.value: media_types.get(mode, "any other") for mode in Mode}


def _endpoints(channel: Channel, base: str) -> list[tuple[str, dict[str, Any]]]:
    name = channel.name
    takes_events = {
        "envelope": "CloudEvents/1.0",
        "protocol": "HTTP",
        "protocoloptions": {"method": "POST", "endpoints": [{"uri": f"{base}/channels/{name}"}]},
    }
    declared = {key: each.document() for key, each in channel.config.items()}
    takes_subscriptions = {
        "envelope": "CloudEvents/1.0",
        "protocol": "HTTP",
        "protocoloptions": {"method": "POST", "endpoints": [{"uri": f"{base}{COLLECTION}"}]},
        "subscriptionconfig": {**OWN_TYPES, **declared},
        "deliveryprotocols": list(PROTOCOLS),
        "dialects": list(DIALECTS),
    }
    described = []
    for usage, rest in (("producer", takes_events), ("subscriber", takes_subscriptions)):
        id_ = f"{name.namespace}.{name.name}.{usage}"
        own = {"endpointid": id_, "self": f"{base}{_ENDPOINTS}/{id_}", "xid": f"/endpoints/{id_}"}
        described.append((id_, {**own, "usage": [usage], "channel": str(name), **rest}))
    return described
