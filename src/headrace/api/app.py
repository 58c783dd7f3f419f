"""The ASGI application: requests to channels go to the ingress, all others to the control API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route as Path

from headrace.api.access.gate import OPEN_GATE
from headrace.api.handlers.openapi import OpenApiHandler
from headrace.api.problems import MEDIA_TYPE, body_of, on_error, on_status
from headrace.api.requests.documents import MAX_DOCUMENT
from headrace.api.requests.hosts import Hosts
from headrace.api.requests.proxies import Proxies
from headrace.api.routes.route import routes_of
from headrace.errors import HeadraceError, InvalidRequest, NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from headrace.api.access.gate import Gate
    from headrace.api.ingress.ingress import Ingress
    from headrace.api.routes.route import Endpoint

_ERROR_HANDLERS: dict[Any, Any] = {
    HeadraceError: on_error,
    405: on_status(405, "method-not-allowed", "{path} does not take {method}"),
    500: on_status(500, "internal", "the service failed on this request; its log says why"),
}
_GONE = 499
_NUL = "\x00"
_SIGNPOSTS = ("/subscriptions", "/api/channels", "/healthz", "/openapi.json")


async def _on_disconnect(_: Request, __: Exception) -> Response:
    """End a request whose client has gone: nothing has failed."""
    return Response(status_code=_GONE)


_ERROR_HANDLERS[ClientDisconnect] = _on_disconnect


def build_app(
    ingress: Ingress | None,
    *handlers: object,
    gate: Gate = OPEN_GATE,
    hosts: Hosts | None = None,
    proxies: Proxies | None = None,
    max_document_bytes: int = MAX_DOCUMENT,
) -> Callable[..., Awaitable[None]]:
    """Put the handlers, whose endpoints declare their routes, behind the gate; add one that describes them.

    Without an ingress no channel takes events here. Without `hosts` every host name is accepted; without `proxies` no
    proxy is trusted.
    """
    hosts, proxies = hosts or Hosts(), proxies or Proxies()
    others = [ingress, *handlers] if ingress else handlers
    described = OpenApiHandler([route for each in others for route, _ in routes_of(each)])
    served: dict[str, dict[str, Endpoint]] = {}
    for handler in (*handlers, described):
        for route, endpoint in routes_of(handler):
            served.setdefault(route.path, {})[route.method] = gate.guard(route, endpoint)
    routes = [
        Path(path, _without_nul(_by_method(endpoints)), methods=list(endpoints))
        for path, endpoints in served.items()
    ]
    control = Starlette(
        routes=routes,
        exception_handlers=_ERROR_HANDLERS | {404: _on_unknown(served, takes_events=ingress is not None)},
    )
    control.state.max_document_bytes = max_document_bytes

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            hosts.check(scope)
        except HeadraceError as refusal:
            answer = Response(body_of(refusal), refusal.http_status, media_type=MEDIA_TYPE)
            await answer(scope, receive, send)
            return
        scope["client"] = proxies.client(scope)
        channel = ingress.address(scope) if ingress and scope["type"] == "http" else None
        if ingress and channel is not None:
            await ingress.handle(channel, scope, receive, send)
        else:
            await control(scope, receive, send)

    return app


def _on_unknown(
    served: Mapping[str, object], *, takes_events: bool
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Make the answer to an unknown path; it names only what this process serves, which may be one role."""
    known = ["POST /channels/{namespace}/{name}"] if takes_events else []
    known += [f"GET {path}" for path in _SIGNPOSTS if path in served]
    hint = "; see " + ", ".join(known).replace("{", "{{").replace("}", "}}") if known else ""
    return on_status(404, "not-found", "nothing is served at {path}" + hint)


def _without_nul(endpoint: Endpoint) -> Endpoint:
    """Refuse U+0000 in an address: no name has it, and PostgreSQL fails on it."""

    async def answer(request: Request) -> Response:
        for name, value in request.path_params.items():
            if _NUL in value:
                raise NotFound(name, value)
        faults = [
            (name, "contains the character U+0000") for name, value in _query(request) if _NUL in name + value
        ]
        if faults:
            raise InvalidRequest(faults)
        return await endpoint(request)

    return answer


def _query(request: Request) -> list[tuple[str, str]]:
    return request.query_params.multi_items() if request.url.query else []


def _by_method(endpoints: Mapping[str, Endpoint]) -> Endpoint:
    """Make one route of a path's endpoints, so that `Allow` names all of its methods."""

    async def answer(request: Request) -> Response:
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return answer
