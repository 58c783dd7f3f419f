"""The one ASGI application: channels' addresses go to the ingress, everything else to the control API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from headrace.api.access.gate import OPEN_GATE
from headrace.api.handlers.channels import on_error, on_status
from headrace.api.openapi.document import CHANNEL_ADDRESS
from headrace.api.openapi.door import Description
from headrace.api.problems import MEDIA_TYPE, body_of
from headrace.api.requests.documents import MAX_DOCUMENT
from headrace.api.requests.hosts import Hosts
from headrace.api.requests.proxies import Proxies
from headrace.errors import HeadraceError, InvalidRequest, NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from headrace.api.access.gate import Gate
    from headrace.api.handlers.ingress import Ingress
    from headrace.api.requests.documents import Handler

_HANDLERS: dict[Any, Any] = {
    HeadraceError: on_error,
    405: on_status(405, "method-not-allowed", "{path} does not take {method}"),
    500: on_status(500, "internal", "the service failed on this request; its log says why"),
}
_GONE = 499
_NUL = "\x00"
_SIGNPOSTS = ("/subscriptions", "/api/channels", "/healthz", "/openapi.json")


async def _on_disconnect(_: Request, __: Exception) -> Response:
    """End a request whose client has gone. Nobody hears it, and nothing has failed."""
    return Response(status_code=_GONE)


_HANDLERS[ClientDisconnect] = _on_disconnect


class Door(Protocol):
    """Something that answers under some paths."""

    def served(self) -> dict[str, dict[str, Handler]]:
        """List what is served, and by which methods."""
        ...


def build_app(
    ingress: Ingress | None,
    *doors: Door,
    gate: Gate = OPEN_GATE,
    hosts: Hosts | None = None,
    proxies: Proxies | None = None,
    max_document_bytes: int = MAX_DOCUMENT,
) -> Callable[..., Awaitable[None]]:
    """Put the doors together, with one that describes them, each behind the gate.

    Without an ingress no channel takes events here. Without `hosts` any name is answered to, and without `proxies` no
    proxy is believed.
    """
    hosts, proxies = hosts or Hosts(), proxies or Proxies()
    served = {path: handlers for door in doors for path, handlers in door.served().items()}
    addresses = {CHANNEL_ADDRESS: ["POST"]} if ingress else {}
    served |= Description(addresses | {path: list(handlers) for path, handlers in served.items()}).served()
    routes = [
        Route(path, _without_nul(gate.guard(path, _by_method(handlers))), methods=list(handlers))
        for path, handlers in served.items()
    ]
    control = Starlette(
        routes=routes,
        exception_handlers=_HANDLERS | {404: _on_unknown(served, takes_events=ingress is not None)},
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
    """Point to what this process serves: a role of its own has not all of the doors."""
    known = ["POST /channels/{namespace}/{name}"] if takes_events else []
    known += [f"GET {path}" for path in _SIGNPOSTS if path in served]
    hint = "; see " + ", ".join(known).replace("{", "{{").replace("}", "}}") if known else ""
    return on_status(404, "not-found", "nothing is served at {path}" + hint)


def _without_nul(handler: Handler) -> Handler:
    """Refuse U+0000 in an address before anybody looks it up: no name has it, and PostgreSQL fails on it."""

    async def answer(request: Request) -> Response:
        for name, value in request.path_params.items():
            if _NUL in value:
                raise NotFound(name, value)
        faults = [
            (name, "has the character U+0000") for name, value in _query(request) if _NUL in name + value
        ]
        if faults:
            raise InvalidRequest(faults)
        return await handler(request)

    return answer


def _query(request: Request) -> list[tuple[str, str]]:
    return request.query_params.multi_items() if request.url.query else []


def _by_method(handlers: Mapping[str, Handler]) -> Handler:
    """One route per path, or the `Allow` of a refusal would name the methods of one route only."""

    async def answer(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return answer
