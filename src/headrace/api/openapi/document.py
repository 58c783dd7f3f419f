"""The document of one process: what its doors serve, and only the components that this needs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headrace.api.access.permissions import permission_for
from headrace.api.openapi.derived import derived_schemas
from headrace.api.openapi.files import read_components, read_head, read_paths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from headrace.api.access.permissions import Permission

CHANNEL_ADDRESS = "/channels/{namespace}/{name}"
_COMPONENTS = "#/components/"


def assemble(served: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Describe these paths with these methods. What nobody has described stands in `x-undescribed`."""
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
    components.setdefault("schemas", {}).update(derived_schemas())
    head = read_head()
    head["info"]["version"] = version("headrace")
    own = head.pop("components")
    whole = head | {"paths": paths, "components": own | _used(paths, components)}
    return whole | ({"x-undescribed": missing} if missing else {})


def _part(path: str, item: Mapping[str, Any], methods: Collection[str]) -> dict[str, Any]:
    """Return what is common to all methods, and the methods that are served."""
    shared = {name: each for name, each in item.items() if name == "parameters"}
    return shared | {
        method.lower(): _guarded(item[method.lower()], permission_for(path, method))
        for method in methods
        if method.lower() in item
    }


def _guarded(operation: Any, permission: Permission | None) -> Any:
    """Add what the gate may answer; what is open to everybody says so."""
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
