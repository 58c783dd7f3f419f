"""The files of the document: OpenAPI as YAML, with two shorthands.

- A `$ref` without `#` refers to the components: `schemas/Channel` is `#/components/schemas/Channel`.
- `problems: [400, 404]` in an operation adds those responses of `components/responses.yaml`.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml  # type: ignore[import-untyped]

_HERE = files(__package__)
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


def read_paths() -> dict[str, dict[str, Any]]:
    """Return the description of each path; a path in two files is an error."""
    paths: dict[str, dict[str, Any]] = {}
    for name, content in _contents("routes"):
        twice = paths.keys() & content.keys()
        if twice:
            raise ValueError(f"{name} describes {', '.join(twice)} a second time")
        paths |= {path: _with_problems(item) for path, item in content.items()}
    return paths


def read_components() -> dict[str, dict[str, Any]]:
    """Return the shared parts by kind, which is the file name up to its first dash or dot."""
    components: dict[str, dict[str, Any]] = {}
    for name, content in _contents("components"):
        components.setdefault(name.partition(".")[0].partition("-")[0], {}).update(content)
    return components


def read_head() -> dict[str, Any]:
    """Return the top of the document: title, tags and authentication."""
    head: dict[str, Any] = _read(_HERE / "head.yaml")
    return head


def _contents(folder: str) -> list[tuple[str, dict[str, Any]]]:
    found = sorted((each for each in (_HERE / folder).iterdir()), key=lambda each: each.name)
    return [(each.name, _read(each)) for each in found if each.name.endswith(".yaml")]


def _read(file: Any) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return _with_whole_references(yaml.load(file.read_text("utf-8"), Loader=loader))  # noqa: S506  both are safe


def _with_whole_references(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_whole_references(each) for each in value]
    if not isinstance(value, dict):
        return value
    whole = {name: _with_whole_references(each) for name, each in value.items()}
    target = whole.get("$ref")
    if isinstance(target, str) and not target.startswith("#"):
        whole["$ref"] = f"#/components/{target}"
    return whole


def _with_problems(item: dict[str, Any]) -> dict[str, Any]:
    return {name: _operation(each) if name in _METHODS else each for name, each in item.items()}


def _operation(described: dict[str, Any]) -> dict[str, Any]:
    operation = {name: each for name, each in described.items() if name != "problems"}
    refused = {
        str(status): {"$ref": f"#/components/responses/Problem{status}"}
        for status in described.get("problems", [])
    }
    return operation | {"responses": described["responses"] | refused}
