"""The OpenAPI document of one process: the paths that it serves, and only the components that these need."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headrace.api.access.permissions import permission_for
from headrace.api.openapi.files import read_components, read_head, read_paths
from headrace.api.openapi.subscription_schemas import proposal_schemas
from headrace.events.media_types import MEDIA_TYPE
from headrace.filters.dialects.schemas import dialect_schemas, filter_schema, message_schema
from headrace.secrets.credential_schema import credential_schema
from headrace.subscriptions.delivery.members import DESTINATION
from headrace.subscriptions.delivery.spec import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from headrace.api.access.permissions import Permission

CHANNEL_ADDRESS = "/channels/{namespace}/{name}"
_COMPONENTS = "#/components/"


def assemble(served: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Describe these methods of these paths; `x-undescribed` lists those that no file describes."""
    described = read_paths()
    paths = {
        path: _part(path, described[path], methods) for path, methods in served.items() if path in described
    }
    missing = [
        f"{method} {path}"
        for path, methods in served.items()
        for method in methods
        if method.lower() not in paths.get(path, {})
    ]
    components = read_components()
    components.setdefault("schemas", {}).update(_derived_schemas())
    head = read_head()
    head["info"]["version"] = version("headrace")
    own = head.pop("components")
    whole = head | {"paths": paths, "components": own | _used(paths, components)}
    return whole | ({"x-undescribed": missing} if missing else {})


def _derived_schemas() -> dict[str, dict[str, Any]]:
    """Make the schemas that must agree with the checks from the tables of the checks."""
    filter_, message = f"{_COMPONENTS}schemas/Filter", f"{_COMPONENTS}schemas/MessageFilter"
    filters = {
        "type": "array",
        "description": "Filters that must all match; an empty list matches always.",
        "items": {"$ref": filter_},
    }
    return {
        "Filter": filter_schema(dialect_schemas(filter_, message)),
        "MessageFilter": message_schema(message),
        "Filters": filters,
        "FilterOrFilters": {"anyOf": [{"$ref": filter_}, {"$ref": f"{_COMPONENTS}schemas/Filters"}]},
        "Credential": credential_schema(),
        "Delivery": dict(DELIVERY),
        "Destination": DESTINATION,
        "MediaType": {"type": "string", "pattern": f"^{MEDIA_TYPE}$", "examples": ["application/json"]},
        **proposal_schemas(),
    }


def _part(path: str, item: Mapping[str, Any], methods: Collection[str]) -> dict[str, Any]:
    """Return the shared parameters of a path, and the methods that are served."""
    shared = {name: each for name, each in item.items() if name == "parameters"}
    return shared | {
        method.lower(): _guarded(item[method.lower()], permission_for(path, method))
        for method in methods
        if method.lower() in item
    }


def _guarded(operation: Any, permission: Permission | None) -> Any:
    """Add the answers of the gate; mark an operation that is open to everybody."""
    if permission is None:
        return operation
    if permission.is_open:
        return {**operation, "security": []}
    refused = {status: {"$ref": f"{_COMPONENTS}responses/Problem{status}"} for status in ("401", "403")}
    return {**operation, "responses": refused | operation["responses"]}


def _used(paths: object, components: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    used: dict[str, dict[str, Any]] = {}
    waiting = list(_references(paths))
    while waiting:
        kind, name = waiting.pop()
        if name not in used.setdefault(kind, {}):
            used[kind][name] = components[kind][name]
            waiting += _references(used[kind][name])
    return {kind: dict(sorted(used[kind].items())) for kind in sorted(used)}


def _references(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        target = value.get("$ref")
        if isinstance(target, str):
            kind, _, name = target.removeprefix(_COMPONENTS).partition("/")
            yield kind, name
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)
