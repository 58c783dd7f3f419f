"""Manifests as text: YAML of many documents, or JSON, which YAML contains.

Aliases are refused: a few lines of them unfold into gigabytes. Dates stay the strings that they are in JSON.
"""

from __future__ import annotations

import math
from typing import Any

import yaml  # type: ignore[import-untyped]

from headrace.errors import InvalidManifest

_LIST = "List"


def read_manifests(text: str | bytes, name: str = "") -> list[Any]:
    """Return the documents, empty ones left out, and those of a `List` or a `TriggerList` one by one.

    `name` is said in errors.
    """
    try:
        found = [each for each in yaml.load_all(text, Loader=_Loader) if each is not None]
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise InvalidManifest([(name, f"this is no YAML: {error}")]) from None
    except RecursionError:
        raise InvalidManifest([(name, "this YAML is nested too deeply")]) from None
    return [each for document in found for each in _unfold(document)]


def write_manifests(documents: list[Any]) -> str:
    """Write them as YAML, one document each."""
    return str(yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))


def _unfold(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        return [document]
    kind = document.get("kind")
    if not isinstance(kind, str) or not kind.endswith(_LIST):
        return [document]
    return [_itself(each, document.get("apiVersion"), kind.removesuffix(_LIST)) for each in document["items"]]


def _itself(item: Any, api_version: Any, kind: str) -> Any:
    """Let an item of a `TriggerList` say what it is, where only its list does."""
    if not kind or not isinstance(item, dict):
        return item
    return {"apiVersion": api_version, "kind": kind, **item}


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Builds JSON's types only, and refuses a key that is given twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"aliases are not accepted{self.peek_event().start_mark}")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.YAMLError(f"the key {key!r} is no string; put it in quotes{key_node.start_mark}")
            if key in mapping:
                raise yaml.YAMLError(f"the key {key!r} is given twice{key_node.start_mark}")
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge", ":value"))
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_NOT_JSON = {f"tag:yaml.org,2002:{name}" for name in ("timestamp", "binary", "set", "omap", "pairs")}
_Loader.yaml_constructors = {
    tag: construct for tag, construct in yaml.SafeLoader.yaml_constructors.items() if tag not in _NOT_JSON
}


def _number(loader: _Loader, node: Any) -> float:
    number = float(loader.construct_yaml_float(node))
    if not math.isfinite(number):
        raise yaml.YAMLError(f"{node.value!r} is no number of JSON{node.start_mark}")
    return number


_Loader.add_constructor("tag:yaml.org,2002:float", _number)


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes texts of several lines as blocks, and never an alias."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
