"""Where events go: Knative's destination, a `uri`, a `ref` to an object that has an address, or both together.

Only objects that were applied here can be looked up. Whether one is there yet is seen later, and said in the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headrace.controlplane.admission.members import check_object
from headrace.controlplane.kinds import KINDS, Kind, kind_at
from headrace.protocols import check_sink

if TYPE_CHECKING:
    from headrace.documents.faults import Faults

_MEMBERS = ("ref", "uri")
_REF_MEMBERS = ("apiVersion", "group", "kind", "name", "namespace")
_NOT_HERE = {
    "CACerts": "certificates of a single sink are not supported; add its authority to the machine's own",
    "audience": "tokens for a sink are given as sinkcredential of a subscription, not here",
}


def check_destination(value: Any, path: str, namespace: str) -> Faults:
    """Tell what is wrong with a destination in an object of the namespace."""
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
                (f"{path}.uri", f"{uri!r}: beside a ref only a path that is added to its address can stand")
            )
    elif uri is None:
        faults.append((path, "has neither uri nor ref; one of them is required"))
    else:
        faults += [(f"{path}.uri", problem) for _, problem in check_sink("HTTP", uri)]
    return faults


def check_reference(ref: Any, path: str, namespace: str, kinds: tuple[Kind, ...]) -> Faults:
    """Tell what is wrong with a reference to an object of one of these kinds in the same namespace."""
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
    """Tell whether a destination without faults is the channel of a name: two addressable objects never have one."""
    return (destination.get("ref") or {}).get("name") == name


def referred_kind(ref: dict[str, Any]) -> Kind | None:
    """Return the kind that a reference names; any version will do."""
    api_version = ref.get("apiVersion") or ""
    group = (
        api_version.rpartition("/")[0] if isinstance(api_version, str) and api_version else ref.get("group")
    )
    return kind_at(str(group), str(ref.get("kind")))
