"""What this service supports, read from the tables that its checks use.

Channels are described as a registry of xRegistry endpoints: each has one for events (`producer`) and one for
subscriptions (`subscriber`). The history of a channel isn't kept, so there are no epochs and no times.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headrace.api.access.access import access_of
from headrace.api.access.permissions import OPEN, Target, known
from headrace.api.answers.discovery import Discovery, Endpoint
from headrace.api.openapi.operation import Answer
from headrace.api.openapi.subscription_schemas import settings_schema
from headrace.api.requests.documents import compute_json, json_response
from headrace.api.requests.threads import compute
from headrace.api.routes.tags import DISCOVERY
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

    from headrace.api.settings import ApiSettings
    from headrace.protocols.protocol import Protocol
    from headrace.subscriptions.channels.document import Channel
    from headrace.subscriptions.store.store import Store

_ENDPOINTS = "/api/discovery/endpoints"


class DiscoveryHandler:
    """The store's calls block, so they run in threads. `address` is the base URL of this service."""

    def __init__(self, store: Store, settings: ApiSettings, address: str) -> None:
        self._store = store
        self._settings = settings
        self._address = address

    @DISCOVERY.route("GET /api/discovery", OPEN, Answer("What there is.", Discovery))
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

    @DISCOVERY.route(
        f"GET {_ENDPOINTS}",
        known(Target.HANDLER),
        Answer("The endpoints, by their ids.", dict[str, Endpoint]),
    )
    async def list_endpoints(self, request: Request) -> Response:
        """Describe channels as a registry of endpoints.

        In the form of xRegistry's endpoints: each channel has a `producer` endpoint, which takes events, and a
        `subscriber` endpoint, which takes subscriptions, with the keys of their `config`.
        """
        registry = await self._registry(request)
        return await compute_json(lambda: registry)

    @DISCOVERY.route(
        f"GET {_ENDPOINTS}/{{id}}", known(Target.HANDLER), Answer("The endpoint.", Endpoint), problems={404}
    )
    async def show_endpoint(self, request: Request) -> Response:
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
    """List the other names of the same dialect."""
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
