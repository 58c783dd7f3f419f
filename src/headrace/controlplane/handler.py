"""The HTTP API of the control plane: `/api/apply`, and objects by kind, namespace and name.

Every kind is served under `/api/objects`; triggers and brokers, whose names are unambiguous, under `/api` too.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from headrace.api.access.access import access_of
from headrace.api.requests.documents import compute_json, json_response, read_body
from headrace.api.requests.threads import compute
from headrace.auth.roles import Role
from headrace.controlplane.kinds import BROKER, KINDS, TRIGGER, ObjectKind, kind_called, kind_of
from headrace.controlplane.manifest import DEFAULT_NAMESPACE
from headrace.controlplane.manifest_text import read_manifests
from headrace.controlplane.objects import ObjectKey
from headrace.errors import InvalidChannel, InvalidManifest, InvalidRequest
from headrace.subscriptions.channels.name import check_channel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.handlers.handler import Routes
    from headrace.controlplane.plane import Applied, ControlPlane

_OF_ONE, _OF_KIND = "/{namespace}/{name}", "/api/objects/{kind}"


class ObjectsHandler:
    """The control plane's calls block, so they run in threads; `refresh` is called after channels may have changed."""

    def __init__(
        self, plane: ControlPlane, refresh: Callable[[], Awaitable[None]], max_manifest_bytes: int
    ) -> None:
        self._plane = plane
        self._refresh = refresh
        self._max_bytes = max_manifest_bytes

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        paths: Routes = {
            "/api/apply": {"POST": self.apply},
            "/api/objects": {"GET": self.kinds},
        }
        for base in (_OF_KIND, f"/api/{TRIGGER.plural}", f"/api/{BROKER.plural}"):
            paths[base] = {"GET": self.list, "POST": self.apply}
            paths[base + _OF_ONE] = {"GET": self.get, "PUT": self.apply, "DELETE": self.delete}
        return paths

    async def apply(self, request: Request) -> Response:
        """Apply the manifests of the body: YAML of many documents, or JSON."""
        body = await read_body(request, self._max_bytes)
        documents = await compute(read_manifests, body)
        await compute(_check_address, request, documents)
        namespace = request.path_params.get("namespace") or _namespace(request) or DEFAULT_NAMESPACE
        dry_run = _flag(request, "dryRun")
        await compute(_check_rights, request, documents, namespace)
        plane = self._plane.recorded(access_of(request).along())
        applied = await asyncio.to_thread(plane.apply, documents, namespace, dry_run=dry_run)
        await self._refresh()
        return await compute_json(lambda: {"results": [_result(each) for each in applied]})

    async def kinds(self, _: Request) -> Response:
        """List the accepted kinds of objects."""
        return json_response(
            [{"group": each.group, "kind": each.name, "plural": each.plural} for each in KINDS]
        )

    async def list(self, request: Request) -> Response:
        """List the objects of a kind, in all namespaces or in one."""
        kind, namespace = _kind_of(request), _namespace(request)
        seen = access_of(request).namespaces
        if namespace is not None:
            seen = frozenset({namespace}) & (frozenset({namespace}) if seen is None else seen)
        found = await asyncio.to_thread(self._plane.list, kind, seen)
        return await compute_json(lambda: found)

    async def get(self, request: Request) -> Response:
        """Show an object with its current status."""
        return json_response(await asyncio.to_thread(self._plane.get, _key_of(request)))

    async def delete(self, request: Request) -> Response:
        """Delete an object and what was created for it; show what it was."""
        key = _key_of(request)
        access_of(request).require(key.namespace, _role_for(key.kind))
        plane = self._plane.recorded(access_of(request).along())
        shown = await asyncio.to_thread(plane.delete, key)
        await self._refresh()
        return json_response(shown)


def _result(applied: Applied) -> dict[str, Any]:
    key = applied.key
    shown: dict[str, Any] = {
        "kind": key.kind.name,
        "namespace": key.namespace,
        "name": key.name,
        "outcome": applied.outcome,
        "warnings": list(applied.warnings),
    }
    return shown if applied.document is None else shown | {"object": applied.document}


def _kind_of(request: Request) -> ObjectKind:
    """Return the kind that the path names; under `/api/objects` every plural is unambiguous."""
    name = request.path_params.get("kind") or request.url.path.split("/")[2]
    return next((each for each in KINDS if each.plural == name), None) or kind_called(name)


def _key_of(request: Request) -> ObjectKey:
    return ObjectKey(_kind_of(request), request.path_params["namespace"], request.path_params["name"])


def _check_address(request: Request, documents: Any) -> None:
    """Refuse manifests that don't belong to the kind or the object in the address."""
    if request.url.path == "/api/apply":
        return
    kind, parts = _kind_of(request), request.path_params
    for document in documents:
        given = document if isinstance(document, dict) else {}
        metadata = given["metadata"] if isinstance(given.get("metadata"), dict) else {}
        if given.get("kind") != kind.name:
            raise InvalidManifest(
                [("kind", f"{given.get('kind')!r} can't be applied here; this address is for {kind.name}")]
            )
        if "name" in parts and metadata.get("name") != parts["name"]:
            problem = f"{metadata.get('name')!r} is not the name in the address"
            raise InvalidManifest([("metadata.name", problem)])
        if "namespace" in parts and metadata.get("namespace", parts["namespace"]) != parts["namespace"]:
            raise InvalidManifest([("metadata.namespace", "is not the namespace in the address")])
    if "name" in parts and len(documents) != 1:
        raise InvalidManifest([("", "exactly one object can be put at this address")])


def _namespace(request: Request) -> str | None:
    """Return the namespace in the query, if it is a valid name."""
    given = request.query_params.get("namespace")
    if given is None:
        return None
    try:
        return check_channel(given, "x").namespace
    except InvalidChannel as error:
        raise InvalidRequest([("namespace", str(error).partition(": ")[2])]) from None


def _check_rights(request: Request, documents: Any, namespace: str) -> None:
    """Refuse objects of namespaces where the caller lacks the role, before anything is looked up."""
    access = access_of(request)
    access.was_asked = True
    for document in documents:
        given = document if isinstance(document, dict) else {}
        metadata, kind = given.get("metadata"), kind_of(given.get("apiVersion"), given.get("kind"))
        own = metadata.get("namespace") if isinstance(metadata, dict) else None
        access.require(own if isinstance(own, str) and own else namespace, _role_for(kind))


def _role_for(kind: ObjectKind | None) -> Role:
    """Return the role that changes a kind: admin for what becomes a channel, subscribe for what listens to one."""
    return Role.SUBSCRIBE if kind is not None and not kind.is_addressable else Role.ADMIN


def _flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise InvalidRequest([(name, f"{text!r} is neither true nor false")])
    return text == "true"
