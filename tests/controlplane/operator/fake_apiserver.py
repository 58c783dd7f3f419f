"""A fake of the API server's HTTP API, for machines that have no real one. What it fakes it fakes as the real one does:

discovery, lists and their label selectors, watches that stream, merge patches, the status as a place of its own,
generations, resource versions with 409, finalizers that hold deletions back, webhooks that are called over HTTPS, unknown
fields that are pruned, misfits that are refused by 422. It has no RBAC, no defaults and no server-side apply.
"""

import asyncio
import base64
import itertools
import json
import re
import ssl
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

_NAMESPACED = {
    ("", "v1"): {"serviceaccounts": "ServiceAccount", "secrets": "Secret", "configmaps": "ConfigMap", "services": "Service", "events": "Event"},
    ("apps", "v1"): {"deployments": "Deployment"},
    ("rbac.authorization.k8s.io", "v1"): {"roles": "Role", "rolebindings": "RoleBinding"},
}  # fmt: skip
_CLUSTER = {
    ("", "v1"): {"namespaces": "Namespace"},
    ("rbac.authorization.k8s.io", "v1"): {
        "clusterroles": "ClusterRole",
        "clusterrolebindings": "ClusterRoleBinding",
    },
    ("apiextensions.k8s.io", "v1"): {"customresourcedefinitions": "CustomResourceDefinition"},
    ("admissionregistration.k8s.io", "v1"): {
        "validatingwebhookconfigurations": "ValidatingWebhookConfiguration"
    },
}
_KEEP_ALIVE = 0.2


class Refused(Exception):
    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class FakeApiServer:
    """Runs in a thread of its own, with an event loop of its own. `server` is plain HTTP."""

    is_real = False
    ca: Path | None = None

    def __init__(self, folder: Path) -> None:
        self._revision = itertools.count(1)
        self._objects: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        self._history: list[tuple[int, str, tuple[str, str], dict[str, Any]]] = []
        self._changed = asyncio.Event()
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self.server = ""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(20)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stopping, self._changed = asyncio.Event(), asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.server = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._started.set()
        await self._stopping.wait()
        self._changed.set()
        await runner.cleanup()

    # Requests

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._route(request)
        except Refused as refused:
            status = {
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": refused.status,
                "reason": refused.reason, "message": str(refused),
            }  # fmt: skip
            return web.json_response(status, status=refused.status)

    async def _route(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if parts == ["version"]:
            return web.json_response({"major": "1", "minor": "35"})
        if parts in (["api"], ["apis"]):
            return web.json_response(self._discovery(parts[0]))
        group, version, rest = (
            ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
        )
        served = self._resources(group, version)
        if not rest:
            return web.json_response({"kind": "APIResourceList", "groupVersion": f"{group}/{version}".strip("/"), "resources": list(_described(served))})  # fmt: skip
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural, name, sub = (*rest, "", "")[:3]
        if plural not in served:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        return await self._serve_resource(request, (group, version, plural), namespace, name, sub)

    async def _serve_resource(self, request, which, namespace, name, sub) -> web.StreamResponse:
        body = json.loads(await request.read() or b"null")
        if request.method == "GET" and not name:
            if request.query.get("watch") in ("true", "1"):
                return await self._watch(request, which, namespace)
            return web.json_response(self._list(which, namespace, request.query.get("labelSelector", "")))
        if request.method == "GET":
            return web.json_response(self._shown(which, self._get(which, namespace, name)))
        if request.method == "POST":
            return web.json_response(
                self._shown(which, await self._create(which, namespace, body)), status=201
            )
        if request.method == "PATCH":
            if "merge-patch" not in request.content_type:
                return web.json_response(
                    self._shown(which, await self._json_patch(which, namespace, name, sub, body))
                )
            return web.json_response(
                self._shown(
                    which, await self._change(which, namespace, name, sub, lambda old: _merge(old, body))
                )
            )
        if request.method == "DELETE":
            return web.json_response(self._shown(which, self._delete(which, namespace, name)))
        raise Refused(
            405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
        )

    # Discovery

    def _definitions(self) -> list[dict[str, Any]]:
        return [each for key, each in self._objects.items() if key[1] == "customresourcedefinitions"]

    def _discovery(self, which: str) -> dict[str, Any]:
        if which == "api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        groups: dict[str, list[str]] = {
            group: [version] for group, version in (*_NAMESPACED, *_CLUSTER) if group
        }
        for each in self._definitions():
            groups[each["spec"]["group"]] = [version["name"] for version in each["spec"]["versions"]]
        described = []
        for group, versions in groups.items():
            offered = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
            described.append({"name": group, "versions": offered, "preferredVersion": offered[0]})
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": described}

    def _resources(self, group: str, version: str) -> dict[str, dict[str, Any]]:
        served = {
            plural: {"kind": kind, "namespaced": True}
            for plural, kind in _NAMESPACED.get((group, version), {}).items()
        }
        served |= {
            plural: {"kind": kind, "namespaced": False}
            for plural, kind in _CLUSTER.get((group, version), {}).items()
        }
        for each in self._definitions():
            spec = each["spec"]
            if spec["group"] == group and version in [one["name"] for one in spec["versions"]]:
                names = spec["names"]
                served[names["plural"]] = {
                    "kind": names["kind"], "namespaced": True, "singular": names["singular"], "status": True,
                    "shortNames": names["shortNames"], "categories": names["categories"],
                    "schema": spec["versions"][0]["schema"]["openAPIV3Schema"],
                }  # fmt: skip
        if not served:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        return served

    # Objects: kept once for all versions

    def _key(self, which, namespace, name):
        return which[0], which[2], namespace, name

    def _get(self, which, namespace, name):
        found = self._objects.get(self._key(which, namespace, name))
        if found is None:
            raise Refused(404, "NotFound", f'{which[2]} "{name}" not found')
        return found

    def _shown(self, which, kept):
        group, version, plural = which
        kind = self._resources(group, version)[plural]["kind"]
        return {**kept, "apiVersion": f"{group}/{version}".strip("/"), "kind": kind}

    def _list(self, which, namespace, selector):
        found = [
            self._shown(which, each)
            for key, each in self._objects.items()
            if key[:2] == (which[0], which[2]) and namespace in ("", key[2]) and _has_labels(each, selector)
        ]
        group, version, plural = which
        return {
            "kind": f"{self._resources(group, version)[plural]['kind']}List",
            "apiVersion": f"{group}/{version}".strip("/"),
            "metadata": {"resourceVersion": str(self._last())},
            "items": found,
        }

    def _last(self) -> int:
        return self._history[-1][0] if self._history else 0

    async def _create(self, which, namespace, body):
        name = body["metadata"].get("name") or body["metadata"]["generateName"] + uuid.uuid4().hex[:5]
        key = self._key(which, namespace, name)
        if key in self._objects:
            raise Refused(409, "AlreadyExists", f'{which[2]} "{name}" already exists')
        metadata = {
            **body["metadata"], "name": name, "uid": str(uuid.uuid4()), "generation": 1,
            "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }  # fmt: skip
        if namespace:
            metadata["namespace"] = namespace
        new = {**body, "metadata": metadata}
        resource = self._resources(which[0], which[1])[which[2]]
        if resource.get("status"):
            new.pop("status", None)
            new = _fitting(new, resource)
        if which[2] == "customresourcedefinitions":
            new["status"] = _established(new)
        for member in ("stringData",):
            if member in new:
                new["data"] = {
                    name: base64.b64encode(value.encode()).decode() for name, value in new.pop(member).items()
                }
        await self._review("CREATE", which, new)
        return self._keep(key, new, "ADDED")

    async def _change(self, which, namespace, name, sub, change):
        old = self._get(which, namespace, name)
        new = change(json.loads(json.dumps(old)))
        given = new["metadata"].get("resourceVersion")
        if given != old["metadata"]["resourceVersion"]:
            raise Refused(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on {which[2]} "{name}": the object has been modified',
            )
        resource = self._resources(which[0], which[1])[which[2]]
        if resource.get("status"):
            if sub == "status":
                new = {**old, **({"status": new["status"]} if "status" in new else {})}
            else:
                new = {**new, **({"status": old["status"]} if "status" in old else {})}
                if "status" not in old:
                    new.pop("status", None)
            new = _fitting(new, resource)
        for member in ("uid", "creationTimestamp", "deletionTimestamp", "generation"):
            if member in old["metadata"]:
                new["metadata"] = {**new["metadata"], member: old["metadata"][member]}
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        if sub != "status":
            await self._review("UPDATE", which, new, old)
        if new == old:
            return old
        key = self._key(which, namespace, name)
        if "deletionTimestamp" in new["metadata"] and not new["metadata"].get("finalizers"):
            del self._objects[key]
            return self._note(key, new, "DELETED")
        return self._keep(key, new, "MODIFIED")

    async def _json_patch(self, which, namespace, name, sub, operations):
        return await self._change(which, namespace, name, sub, lambda old: _apply_operations(old, operations))

    def _delete(self, which, namespace, name):
        key, old = self._key(which, namespace, name), self._get(which, namespace, name)
        if old["metadata"].get("finalizers"):
            if "deletionTimestamp" in old["metadata"]:
                return old
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            return self._keep(
                key, {**old, "metadata": {**old["metadata"], "deletionTimestamp": now}}, "MODIFIED"
            )
        del self._objects[key]
        return self._note(key, old, "DELETED")

    def _keep(self, key, new, event):
        self._objects[key] = kept = self._note(key, new, event)
        return kept

    def _note(self, key, new, event):
        revision = next(self._revision)
        noted = {**new, "metadata": {**new["metadata"], "resourceVersion": str(revision)}}
        self._history.append((revision, event, key[:2], noted))
        self._changed.set()
        self._changed = asyncio.Event()
        return noted

    # Watches and webhooks

    async def _watch(self, request, which, namespace) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        seen = int(request.query.get("resourceVersion") or 0)
        while not self._stopping.is_set() and request.transport is not None:
            changed = self._changed
            for revision, event, what, noted in [each for each in self._history if each[0] > seen]:
                seen = revision
                if what == (which[0], which[2]) and namespace in ("", noted["metadata"].get("namespace")):
                    line = {"type": event, "object": self._shown(which, noted)}
                    await response.write(json.dumps(line).encode() + b"\n")
            try:
                await asyncio.wait_for(changed.wait(), _KEEP_ALIVE)
            except TimeoutError:
                continue
        return response

    async def _review(self, operation, which, new, old=None) -> None:
        hooks = [
            hook
            for key, each in self._objects.items()
            if key[1] == "validatingwebhookconfigurations"
            for hook in each["webhooks"]
            for rule in hook["rules"]
            if _selects(hook, new["metadata"].get("namespace"))
            and which[0] in rule["apiGroups"]
            and which[2] in rule["resources"]
            and operation in rule["operations"]
        ]
        for hook in hooks:
            request = {
                "uid": str(uuid.uuid4()),
                "operation": operation,
                "object": self._shown(which, new),
                "oldObject": old,
            }
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
            answer = await _call(hook["clientConfig"], review, hook["name"])
            if not answer["response"]["allowed"]:
                reason = answer["response"]["status"]["message"]
                raise Refused(
                    400, "BadRequest", f'admission webhook "{hook["name"]}" denied the request: {reason}'
                )


def _selects(hook, namespace):
    wanted = hook.get("namespaceSelector", {}).get("matchLabels", {}).get("kubernetes.io/metadata.name")
    return wanted in (None, namespace)


async def _call(config, review, name):
    context = ssl.create_default_context(cadata=base64.b64decode(config.get("caBundle", "")).decode() or None)
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.post(config["url"], json=review, ssl=context) as response,
        ):
            return await response.json()
    except aiohttp.ClientError as error:
        raise Refused(500, "InternalError", f'failed calling webhook "{name}": {error}') from error


def _described(served: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    for plural, each in served.items():
        described = {"name": plural, "singularName": each.get("singular", ""), "namespaced": each["namespaced"], "kind": each["kind"], "verbs": verbs}  # fmt: skip
        yield described | {name: each[name] for name in ("shortNames", "categories") if name in each}
        if each.get("status"):
            yield {**described, "name": f"{plural}/status", "verbs": ["get", "patch", "update"]}


def _merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged


def _apply_operations(target: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902, as far as kopf uses it: add, remove, replace and test."""
    for each in operations:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]]
        holder = target
        for part in path:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        index: Any = (len(holder) if last == "-" else int(last)) if isinstance(holder, list) else last
        present = (
            holder.get(index) if isinstance(holder, dict) else holder[index] if index < len(holder) else None
        )
        if each["op"] == "test":
            if present != each["value"]:
                raise Refused(
                    422, "Invalid", "the server rejected our request due to an error in our request"
                )
        elif each["op"] == "remove":
            del holder[index]
        elif isinstance(holder, list) and each["op"] == "add":
            holder.insert(index, each["value"])
        else:
            holder[index] = each["value"]
    return target


def _has_labels(kept: dict[str, Any], selector: str) -> bool:
    wanted = dict(each.split("=", 1) for each in selector.split(",") if each)
    return wanted.items() <= (kept["metadata"].get("labels") or {}).items()


def _established(definition: dict[str, Any]) -> dict[str, Any]:
    conditions = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
    stored = [each["name"] for each in definition["spec"]["versions"] if each["storage"]]
    return {
        "conditions": conditions,
        "storedVersions": stored,
        "acceptedNames": definition["spec"]["names"],
    }


def _fitting(new: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the schema doesn't know, and refuse what doesn't fit it."""
    new = _pruned(new, resource["schema"])
    if faults := list(_misfits(new, resource["schema"], "")):
        name = f'{resource["kind"]} "{new["metadata"]["name"]}"'
        raise Refused(422, "Invalid", f"{name} is invalid: {', '.join(faults)}")
    return new


_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
}  # fmt: skip


def _misfits(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    kind = schema.get("type")
    if kind and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        yield f"{path}: Invalid value: {path} in body must be of type {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: Unsupported value: {value!r}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{path}: Invalid value: {value!r}: should be greater than or equal to {schema['minimum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: Invalid value: {value!r}: should match '{schema['pattern']}'"
    if kind == "array":
        for number, each in enumerate(value):
            yield from _misfits(each, schema.get("items", {}), f"{path}[{number}]")
    if kind == "object":
        yield from (
            f"{path}.{name}: Required value" for name in schema.get("required", ()) if name not in value
        )
        for name, each in value.items():
            if name in schema.get("properties", {}):
                yield from _misfits(each, schema["properties"][name], f"{path}.{name}".lstrip("."))


def _pruned(value: Any, schema: dict[str, Any], *, at_top: bool = True) -> Any:
    """Leave out what the schema doesn't know, as a structural schema does."""
    if isinstance(value, list):
        return [_pruned(each, schema.get("items", {}), at_top=False) for each in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    known = schema["properties"]
    return {
        name: each if at_top and name == "metadata" else _pruned(each, known[name], at_top=False)
        for name, each in value.items()
        if name in known
    }
