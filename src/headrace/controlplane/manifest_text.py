"""Manifests as text: YAML of many documents, or JSON, which is a part of YAML. Dates stay strings, as in JSON."""

from __future__ import annotations

from typing import Any

import yaml  # type: ignore[import-untyped]

from headrace.controlplane.yaml_reader import TooMuch, read_documents
from headrace.errors import InvalidManifest

_LIST = "List"


def read_manifests(text: str | bytes, name: str = "") -> list[Any]:
    """Return the documents without empty ones, and the items of a `List` or a `TriggerList` one by one.

    Errors mention `name`.
    """
    try:
        found = [each for each in read_documents(text) if each is not None]
    except TooMuch as error:
        raise InvalidManifest([(name, str(error))]) from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise InvalidManifest([(name, f"this is not YAML: {error}")]) from None
    return [each for document in found for each in _unfold(document)]


def write_manifests(documents: list[Any]) -> str:
    """Write manifests as YAML, one document each."""
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
    """Add the kind to an item of a `TriggerList`, where only the list names it."""
    if not kind or not isinstance(item, dict):
        return item
    return {"apiVersion": api_version, "kind": kind, **item}


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes texts of several lines as blocks, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
