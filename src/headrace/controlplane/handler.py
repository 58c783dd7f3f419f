"""The HTTP API of the control plane: `/api/apply`, and objects by kind, namespace and name.

Every kind is served under `/api/objects`; triggers and brokers, whose names are unambiguous, under `/api` too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.api.access.access import access_of
from headrace.api.access.permissions import Target, known, subscribe
from headrace.api.openapi.operation import JSON, Answer, Body
from headrace.api.requests.documents import compute_json, json_response, read_body
from headrace.api.requests.threads import compute
from headrace.api.routes.parameters import flag, in_path, namespace
from headrace.api.routes.route import operation_id
from headrace.api.routes.tags import OBJECTS
from headrace.auth.roles import Role
from headrace.controlplane.answers import KIND_NAME, MANIFEST, MANIFESTS, KindOfObject, KnativeObject
from headrace.controlplane.answers import Applied as ShownApplied
from headrace.controlplane.kinds import BROKER, KINDS, TRIGGER, ObjectKind, kind_called, kind_of
from headrace.controlplane.manifest import DEFAULT_NAMESPACE
from headrace.controlplane.manifest_text import read_manifests
from headrace.controlplane.objects import ObjectKey
from headrace.errors import InvalidManifest

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.access.permissions import Permission
    from headrace.controlplane.plane import Applied, ControlPlane

_YAML = "application/yaml"
_KIND = in_path("kind", "The plural of a kind, its short name, or `plural.group`.", KIND_NAME)
_NAMESPACE = namespace("namespace", "The namespace of those that name none.")
_OF_NAMESPACE = namespace("namespace", "Of this namespace.")
_DRY_RUN = flag("dryRun", "Only check, and tell what would become of it.")
_MANIFESTS = Body({JSON: MANIFESTS, _YAML: MANIFESTS}, "Without any, nothing is asked for.", required=False)
_MANIFEST = Body({JSON: MANIFEST, _YAML: MANIFEST})
_APPLIED = Answer("What became of each.", ShownApplied)
_OBJECT = Answer("The object.", KnativeObject)
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


def _of_each_kind(
    address: str,
    permission: Permission,
    answer: Answer,
    summary: str,
    *,
    parameters: tuple[Any, ...] = (),
    **more: Any,
) -> Callable[[_Endpoint], _Endpoint]:
    """Declare a route under `/api/objects/{kind}`, and the same for triggers and for brokers.

    In the `summary` of the latter, `{}` stands for the kind.
    """

    def declare(endpoint: _Endpoint) -> _Endpoint:
        for kind in (BROKER, TRIGGER):
            endpoint = OBJECTS.route(
                address.replace("objects/{kind}", kind.plural),
                permission,
                answer,
                parameters=parameters,
                operation=operation_id(endpoint.__name__.replace("object", kind.name.lower())),
                summary=summary.format(kind.name.lower()),
                **more,
            )(endpoint)
        return OBJECTS.route(address, permission, answer, parameters=(_KIND, *parameters), **more)(endpoint)

    return declare


class ObjectsHandler:
    """The control plane's calls block, so they run in threads; `refresh` is called after channels may have changed."""

    def __init__(
        self, plane: ControlPlane, refresh: Callable[[], Awaitable[None]], max_manifest_bytes: int
    ) -> None:
        self._plane = plane
        self._refresh = refresh
        self._max_bytes = max_manifest_bytes

    @OBJECTS.route(
        "POST /api/apply",
        subscribe(Target.HANDLER),
        _APPLIED,
        records="object",
        parameters=(_NAMESPACE, _DRY_RUN),
        body=_MANIFESTS,
        problems={409},
    )
    async def apply(self, request: Request) -> Response:
        """Bring objects to what manifests say.

        All are admitted, or nothing is changed. The body is YAML of many documents, or JSON.
        """
        return await self._apply(request)

    @_of_each_kind(
        "POST /api/objects/{kind}",
        subscribe(Target.HANDLER),
        _APPLIED,
        "Bring {}s to what manifests say.",
        parameters=(_NAMESPACE, _DRY_RUN),
        records="object",
        body=_MANIFESTS,
        problems={404, 409},
    )
    async def apply_objects(self, request: Request) -> Response:
        """Bring objects of this kind to what manifests say."""
        return await self._apply(request)

    @_of_each_kind(
        "PUT /api/objects/{kind}/{namespace}/{name}",
        subscribe(Target.HANDLER),
        _APPLIED,
        "Bring a {} to what its manifest says.",
        parameters=(_DRY_RUN,),
        records="object",
        body=_MANIFEST,
        problems={404, 409},
    )
    async def put_object(self, request: Request) -> Response:
        """Bring one object to what its manifest says."""
        return await self._apply(request)

    async def _apply(self, request: Request) -> Response:
        body = await read_body(request, self._max_bytes)
        documents = await compute(read_manifests, body)
        await compute(_check_address, request, documents)
        owner = request.path_params.get("namespace") or _NAMESPACE.of(request) or DEFAULT_NAMESPACE
        dry_run = _DRY_RUN.of(request)
        await compute(_check_rights, request, documents, owner)
        plane = self._plane.recorded(access_of(request).along())
        applied = await asyncio.to_thread(plane.apply, documents, owner, dry_run=dry_run)
        await self._refresh()
        return await compute_json(lambda: {"results": [_result(each) for each in applied]})

    @OBJECTS.route("GET /api/objects", known(), Answer("The kinds.", list[KindOfObject]))
    async def list_kinds(self, _: Request) -> Response:
        """List the kinds of objects that are accepted."""
        return json_response(
            [{"group": each.group, "kind": each.name, "plural": each.plural} for each in KINDS]
        )

    @_of_each_kind(
        "GET /api/objects/{kind}",
        subscribe(Target.HANDLER),
        Answer("The objects.", list[KnativeObject]),
        "List {}s.",
        parameters=(_OF_NAMESPACE,),
        problems={404},
    )
    async def list_objects(self, request: Request) -> Response:
        """List the objects of a kind, of all namespaces or of one."""
        kind, wanted = _kind_of(request), _OF_NAMESPACE.of(request)
        seen = access_of(request).namespaces
        if wanted is not None:
            seen = frozenset({wanted}) & (frozenset({wanted}) if seen is None else seen)
        found = await asyncio.to_thread(self._plane.list, kind, seen)
        return await compute_json(lambda: found)

    @_of_each_kind(
        "GET /api/objects/{kind}/{namespace}/{name}",
        subscribe(Target.PATH),
        _OBJECT,
        "Show a {}.",
        problems={404},
    )
    async def show_object(self, request: Request) -> Response:
        """Show an object, with the status of this moment."""
        return json_response(await asyncio.to_thread(self._plane.get, _key_of(request)))

    @_of_each_kind(
        "DELETE /api/objects/{kind}/{namespace}/{name}",
        subscribe(Target.HANDLER),
        _OBJECT,
        "Remove a {}.",
        records="object",
        problems={404, 409},
    )
    async def delete_object(self, request: Request) -> Response:
        """Remove an object, and what was made for it; show what it was."""
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
