"""The envelope of a manifest: what objects of every kind have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.controlplane.kinds import KINDS, VERSIONS, ObjectKind, kind_of
from headrace.errors import InvalidChannel, InvalidManifest
from headrace.subscriptions.channels.name import check_channel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults

DEFAULT_NAMESPACE = "default"
_MEMBERS = ("apiVersion", "kind", "metadata", "spec", "status")
_MOST_METADATA = 256 * 1024


@dataclass(frozen=True, slots=True)
class Manifest:
    """The requested object. `resource_version`, if given, must be the object's current one."""

    kind: ObjectKind
    version: str
    namespace: str
    name: str
    spec: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    resource_version: str | None = None

    def __str__(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}"


def read_manifest(document: Any, namespace: str = DEFAULT_NAMESPACE) -> Manifest:
    """Parse the envelope of a manifest; InvalidManifest lists every fault. `namespace` is the default.

    `status` and what an API server adds to `metadata` are ignored, so that objects can be applied as they were shown.
    """
    if not isinstance(document, dict):
        raise InvalidManifest([("", f"a manifest has to be an object, and this is {_a(document)}")])
    kind = kind_of(document.get("apiVersion"), document.get("kind"))
    if kind is None:
        raise InvalidManifest([("kind", _unknown_kind(document))])
    metadata = document.get("metadata") or {}
    faults: Faults = [
        (str(key), f"unknown member; an object has: {', '.join(_MEMBERS)}")
        for key in document
        if key not in _MEMBERS
    ]
    if not isinstance(metadata, dict):
        raise InvalidManifest([*faults, ("metadata", f"has to be an object, and this is {_a(metadata)}")])
    name, space = _names(metadata, namespace, faults)
    spec = document.get("spec") or {}
    if not isinstance(spec, dict):
        faults.append(("spec", f"has to be an object, and this is {_a(spec)}"))
    faults += _check_texts(metadata)
    if faults:
        raise InvalidManifest(faults)
    return Manifest(
        kind=kind,
        version=document["apiVersion"].partition("/")[2],
        namespace=space,
        name=name,
        spec=spec,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        resource_version=metadata.get("resourceVersion"),
    )


def _names(metadata: dict[str, Any], namespace: str, faults: Faults) -> tuple[str, str]:
    space, name = metadata.get("namespace") or namespace, metadata.get("name")
    if name is None and "generateName" in metadata:
        faults.append(
            ("metadata.generateName", "an object is applied under its own name; give metadata.name")
        )
    else:
        for part, value, pair in (("namespace", space, (space, "x")), ("name", name, ("x", name))):
            try:
                check_channel(*pair)
            except InvalidChannel as error:
                faults.append((f"metadata.{part}", str(error).partition(": ")[2] if value else "is required"))
    return str(name), str(space)


def _check_texts(metadata: dict[str, Any]) -> Faults:
    faults: Faults = []
    for part in ("labels", "annotations"):
        given = metadata.get(part) or {}
        if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
            faults.append((f"metadata.{part}", "has to be a map of strings to strings"))
        elif sum(len(key) + len(value) for key, value in given.items()) > _MOST_METADATA:
            faults.append((f"metadata.{part}", f"are more than {_MOST_METADATA} characters"))
    version = metadata.get("resourceVersion")
    if version is not None and not isinstance(version, str):
        faults.append(("metadata.resourceVersion", "has to be a string"))
    return faults


def _unknown_kind(document: dict[str, Any]) -> str:
    given = f"{document.get('apiVersion')!r}, {document.get('kind')!r}"
    known = ", ".join(f"{kind.name} ({kind.group})" for kind in KINDS)
    return f"{given} is not accepted here; there are {known}, in the versions {' and '.join(VERSIONS)}"


def _a(value: object) -> str:
    names = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), "nothing")
