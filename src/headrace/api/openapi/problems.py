"""Refusals, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.access.permissions import BY_ID, Target
from headrace.api.answers.shared import Problem
from headrace.api.openapi.operation import RETRY_AFTER, Answer
from headrace.api.problems import MEDIA_TYPE

if TYPE_CHECKING:
    from headrace.api.routes.route import Route

_DESCRIPTIONS = {
    400: "The request can't be met; `faults` says what is wrong with it.",
    401: "The caller has not authenticated.",
    403: "The caller may not do this, or a quota of the namespace is used up.",
    404: "There is no such thing.",
    408: "The body did not come in time.",
    409: "The request contradicts what exists.",
    412: "It has changed since; get it again.",
    413: "More bytes than the limit allows.",
    415: "This format is not supported.",
    429: "Routing or delivery is behind, or the namespace sends too fast; nothing was stored.",
    503: "Something that is needed is unavailable for now.",
    507: "A disk is nearly full; nothing was stored.",
}
_LATER = (429, 503, 507)


def problem_answer(status: int) -> Answer:
    """Describe a refusal."""
    headers = (RETRY_AFTER,) if status in _LATER else ()
    return Answer(_DESCRIPTIONS[status], {MEDIA_TYPE: Problem}, headers)


def problems_of(route: Route) -> list[int]:
    """Return the statuses of a route's refusals: those that it declares, and those that follow from the rest of it."""
    found = set(route.problems)
    if not route.permission.is_open:
        found |= {401, 403, 503}
    if route.permission.target in {*BY_ID, Target.CHANNEL}:
        found.add(404)
    if any(each.where == "query" for each in route.parameters):
        found.add(400)
    if route.body is not None:
        found |= {400, 413, 415} if route.body.is_json else {400, 413}
    return sorted(found)


def reference(status: int) -> dict[str, Any]:
    """Return the reference to a refusal among the components."""
    return {"$ref": f"#/components/responses/Problem{status}"}
