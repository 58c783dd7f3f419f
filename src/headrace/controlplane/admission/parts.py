"""Checks of the parts that several kinds share: members, delivery objects, destinations and references.

A destination is a `uri`, a `ref` to an object that has an address, or both. Only objects that were applied here can be
resolved; whether one exists is found out later, and reported in the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headrace.controlplane.kinds import KINDS, ObjectKind, kind_at
from headrace.protocols import check_sink
from headrace.subscriptions.delivery.spec import check_delivery

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.documents.faults import Faults

_MEMBERS = ("ref", "uri")
_REF_MEMBERS = ("apiVersion", "group", "kind", "name", "namespace")
_NOT_HERE = {
    "CACerts": "certificates of a single sink are not supported; add its authority to those of the machine",
    "audience": "tokens for a sink are given as the sinkcredential of a subscription, not here",
}


def check_members(value: Mapping[str, Any], path: str, known: Iterable[str]) -> Faults:
    """Return a fault for every unknown member: a misspelt one would do nothing."""
    names = tuple(known)
    return [
        (f"{path}.{key}", f"unknown member; {path} has: {', '.join(names)}")
        for key in value
        if key not in names
    ]


def check_object(value: Any, path: str, known: Iterable[str]) -> Faults:
    """Return the faults of a value that has to be an object with known members."""
    if not isinstance(value, dict):
        return [(path, f"has to be an object with any of: {', '.join(known)}")]
    return check_members(value, path, known)


def check_delivery_of(spec: dict[str, Any], path: str, namespace: str) -> Faults:
    """Return the faults of a spec's delivery object, if it has one; its dead-letter sink may be a reference."""
    delivery = spec.get("delivery")
    if delivery is None:
        return []
    if not isinstance(delivery, dict):
        return check_delivery(delivery, f"{path}.delivery")
    rest = {name: value for name, value in delivery.items() if name != "deadLetterSink" and value is not None}
    faults = check_delivery(rest, f"{path}.delivery")
    if (sink := delivery.get("deadLetterSink")) is not None:
        faults += check_destination(sink, f"{path}.delivery.deadLetterSink", namespace)
    return faults


def check_destination(value: Any, path: str, namespace: str) -> Faults:
    """Return the faults of a destination in an object of the namespace."""
    if not isinstance(value, dict):
        return [(path, 'has to be an object, {"uri": "http://…"} or {"ref": {…}}')]
    faults: Faults = [(f"{path}.{name}", problem) for name, problem in _NOT_HERE.items() if value.get(name)]
    faults += check_object({key: each for key, each in value.items() if key not in _NOT_HERE}, path, _MEMBERS)
    uri, ref = value.get("uri"), value.get("ref")
    if ref is not None:
        faults += check_reference(
            ref, f"{path}.ref", namespace, tuple(each for each in KINDS if each.is_addressable)
        )
        if uri is not None and (not isinstance(uri, str) or urlsplit(uri).scheme or urlsplit(uri).netloc):
            faults.append(
                (f"{path}.uri", f"{uri!r}: with a ref, uri has to be a path, which is added to its address")
            )
    elif uri is None:
        faults.append((path, "has neither uri nor ref; one of them is required"))
    else:
        faults += [(f"{path}.uri", problem) for _, problem in check_sink("HTTP", uri)]
    return faults


def check_reference(ref: Any, path: str, namespace: str, kinds: tuple[ObjectKind, ...]) -> Faults:
    """Return the faults of a reference to an object of one of these kinds in the same namespace."""
    faults = check_object(ref, path, _REF_MEMBERS)
    if faults:
        return faults
    kind = referred_kind(ref)
    if kind not in kinds:
        known = ", ".join(each.name for each in kinds)
        given = f"{ref.get('kind')!r} of {ref.get('apiVersion') or ref.get('group')!r}"
        return [
            (
                path,
                f"{given} can't be looked up outside its cluster; refer to one of {known}, or give its address as uri",
            )
        ]
    if not isinstance(ref.get("name"), str) or not ref["name"]:
        faults.append((f"{path}.name", "is required"))
    if ref.get("namespace") not in (None, "", namespace):
        faults.append((f"{path}.namespace", f"{ref['namespace']!r} is another namespace than {namespace!r}"))
    return faults


def refers_to(destination: dict[str, Any], name: str) -> bool:
    """Tell whether a valid destination is the channel of this name; names of addressable objects are unique."""
    return (destination.get("ref") or {}).get("name") == name


def referred_kind(ref: dict[str, Any]) -> ObjectKind | None:
    """Return the kind that a reference names, in any version."""
    api_version = ref.get("apiVersion") or ""
    group = (
        api_version.rpartition("/")[0] if isinstance(api_version, str) and api_version else ref.get("group")
    )
    return kind_at(str(group), str(ref.get("kind")))
