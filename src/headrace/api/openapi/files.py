"""The files of the description: OpenAPI as YAML, with two shorthands that keep them short.

- A `$ref` without `#` is one to the components: `schemas/Channel` is `#/components/schemas/Channel`.
- `problems: [400, 404]` in an operation are responses with problem documents, which `components/responses.yaml` has.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml  # type: ignore[import-untyped]

_HERE = files(__package__)
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


def read_paths() -> dict[str, dict[str, Any]]:
    """Return what is described of each path; a path that two files describe is a mistake."""
    paths: dict[str, dict[str, Any]] = {}
    for name, content in _contents("routes"):
        twice = paths.keys() & content.keys()
        if twice:
            raise ValueError(f"{name} describes {', '.join(twice)} a second time")
        paths |= {path: _with_problems(item) for path, item in content.items()}
    return paths


def read_components() -> dict[str, dict[str, Any]]:
    """Return the shared parts by their kind, which is a file's name up to its first dash or dot."""
    components: dict[str, dict[str, Any]] = {}
    for name, content in _contents("components"):
        components.setdefault(name.partition(".")[0].partition("-")[0], {}).update(content)
    return components


def read_head() -> dict[str, Any]:
    """Return what stands at the top of the document: its title, tags and ways to authenticate."""
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
