"""A route, declared once, above its endpoint: who may use it, what the audit log records, and its description.

    @HISTORY.route("DELETE /api/jobs/{id}", subscribe(Target.JOB), Answer("The job.", Job), records="job")
    async def cancel_job(self, request: Request) -> Response:
        \"\"\"Cancel a job.\"\"\"

The endpoint's name, as `cancelJob`, is the operation's id, which clients depend on; the first paragraph of its
docstring is the summary, and the rest the description.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from headrace.api.openapi.operation import Answer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from headrace.api.access.permissions import Permission
    from headrace.api.openapi.operation import Body
    from headrace.api.routes.parameters import Parameter

Endpoint = Callable[[Request], Awaitable[Response]]
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])
_ROUTES = "__routes__"


@dataclass(frozen=True, slots=True)
class Route:
    """`records` is the kind of what a request changes, for the audit log; None where nothing is recorded.

    `problems` are the statuses of refusals, besides those that follow from the permission, the body and the parameters.
    """

    method: str
    path: str
    permission: Permission
    answers: Mapping[int, Answer]
    records: str | None
    parameters: tuple[Parameter[Any], ...]
    body: Body | None
    problems: Collection[int]
    tag: str
    operation: str
    summary: str
    description: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A part of the API, under which the OpenAPI document lists routes."""

    name: str
    description: str

    def route(
        self,
        address: str,
        permission: Permission,
        answers: Answer | Mapping[int, Answer],
        *,
        records: str | None = None,
        parameters: tuple[Parameter[Any], ...] = (),
        body: Body | None = None,
        problems: Collection[int] = (),
        operation: str = "",
        summary: str = "",
    ) -> Callable[[_Endpoint], _Endpoint]:
        """Declare a route of an endpoint by method and path; a single answer has the status 200.

        An endpoint may have several routes: then `operation` and `summary` tell them apart.
        """
        method, path = address.split()
        by_status = {200: answers} if isinstance(answers, Answer) else answers

        def declare(endpoint: _Endpoint) -> _Endpoint:
            name, (own, _, more) = (
                endpoint.__name__,
                inspect.cleandoc(endpoint.__doc__ or "").partition("\n\n"),
            )
            declared = Route(
                method, path, permission, by_status, records, parameters, body, problems,
                self.name, operation or operation_id(name), summary or own, more,
            )  # fmt: skip
            setattr(endpoint, _ROUTES, [declared, *getattr(endpoint, _ROUTES, [])])
            return endpoint

        return declare


def routes_of(handler: object) -> list[tuple[Route, Endpoint]]:
    """Return the routes of a handler, in the order in which they are declared, each with its endpoint."""
    return [
        (declared, getattr(handler, name))
        for name, endpoint in vars(type(handler)).items()
        for declared in getattr(endpoint, _ROUTES, [])
    ]


def operation_id(name: str) -> str:
    """Return the id of the operation that an endpoint of this name is."""
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)
