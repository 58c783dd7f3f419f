"""The control plane: applies manifests, shows objects, deletes them.

A set of manifests is checked as a whole before the first one is stored: either all are admitted, or nothing changes.
Then each object is reconciled on its own, and after it those that refer to it, so that the order of manifests doesn't
matter. A process that dies in between leaves objects whose last generation was not reconciled; `repair` finishes them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.table import admit
from headrace.controlplane.conditions import dated, with_ready
from headrace.controlplane.documents import document_of
from headrace.controlplane.kinds import CHANNEL, SUBSCRIPTION
from headrace.controlplane.manifest import DEFAULT_NAMESPACE, Manifest, read_manifest
from headrace.controlplane.objects import Object, ObjectKey, changed_by, is_resource_version, object_of
from headrace.controlplane.reconcile.addressables import remove_channel
from headrace.controlplane.reconcile.generic_channels import backing_kind, backing_of
from headrace.controlplane.reconcile.subscribers import sync
from headrace.controlplane.reconcile.subscriptions import channel_key
from headrace.controlplane.reconcile.table import RECONCILERS
from headrace.errors import Conflict, InvalidManifest, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from headrace.controlplane.conditions import Condition
    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.kinds import ObjectKind
    from headrace.database.companion import Companion
    from headrace.documents.faults import Faults

_ATTEMPTS = 10
CREATED, CONFIGURED, UNCHANGED = "created", "configured", "unchanged"


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of a manifest. `document` is the object as it is now; None in a dry run."""

    key: ObjectKey
    outcome: str
    warnings: tuple[str, ...] = ()
    document: dict[str, Any] | None = None


class ControlPlane:
    """Its calls block, so an event loop makes them in a thread. Several processes may share the database."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._registry = deployment.registry
        self._along = deployment.along

    def recorded(self, along: Companion | None) -> ControlPlane:
        """Return the same one for one change, however many transactions it takes; the first has this along."""
        return ControlPlane(replace(self._deployment, along=along))

    # Applying

    def apply(
        self, documents: Sequence[Any], namespace: str = DEFAULT_NAMESPACE, *, dry_run: bool = False
    ) -> list[Applied]:
        """Create or change the objects of these manifests. InvalidManifest lists the faults of all of them."""
        admitted = self._admit(documents, namespace)
        if not dry_run:
            for manifest, _ in sorted(admitted, key=lambda each: each[0].kind.rank):
                self._check_version(manifest)
        outcomes: dict[ObjectKey, str] = {}
        for manifest, _ in sorted(admitted, key=lambda each: each[0].kind.rank):
            outcomes[_key(manifest)] = self._outcome(manifest) if dry_run else self._apply(manifest)
        return [
            Applied(key, outcomes[key], tuple(warnings), None if dry_run else self.get(key))
            for manifest, warnings in admitted
            for key in [_key(manifest)]
        ]

    def _admit(self, documents: Sequence[Any], namespace: str) -> list[tuple[Manifest, list[str]]]:
        faults: Faults = []
        manifests: dict[ObjectKey, Manifest] = {}
        admitted = []
        for number, document in enumerate(documents, start=1):
            label = f"document {number}"
            try:
                manifest = read_manifest(document, namespace)
                label = str(manifest)
                old = self._registry.get(_key(manifest))
                admitted.append((manifest, admit(manifest, old.spec if old else None)))
                self._check_name(manifest, manifests)
            except InvalidManifest as error:
                faults += [(f"{label} {path}".rstrip(), problem) for path, problem in error.faults]
            else:
                manifests[_key(manifest)] = manifest
        if faults:
            raise InvalidManifest(faults)
        return admitted

    def _check_name(self, manifest: Manifest, others: dict[ObjectKey, Manifest]) -> None:
        """Refuse a second addressable object of the same name: both would be the same channel."""
        key = _key(manifest)
        if key in others:
            raise InvalidManifest([("", "is given twice")])
        if not key.kind.is_addressable:
            return
        existing = [
            each.key for each in self._registry.named(key.namespace, key.name) if not self._is_pair(each, key)
        ]
        for other in (*existing, *others):
            if other[1:] == key[1:] and other.kind.is_addressable and other.kind != key.kind:
                taken = (
                    f"the channel {key.namespace}/{key.name} belongs to {other} already; choose another name"
                )
                raise InvalidManifest([("metadata.name", taken)])

    def _is_pair(self, existing: Object, key: ObjectKey) -> bool:
        """Tell whether two objects of one name are a generic Channel and its backing channel."""
        own = self._registry.get(key)
        if own is None:
            return False
        if key.kind == CHANNEL:
            return existing.owner == own.uid
        return existing.kind == CHANNEL and own.owner == existing.uid

    def _check_version(self, manifest: Manifest) -> None:
        """Refuse to change another version than the manifest names. Versions of a cluster mean nothing here."""
        if not is_resource_version(manifest.resource_version):
            return
        old = self._registry.get(_key(manifest))
        if old is None or old.resource_version != manifest.resource_version:
            now = "it does not exist" if old is None else f"it is at {old.resource_version!r}"
            raise Conflict(
                f"{manifest} should be changed at resourceVersion {manifest.resource_version!r}, but {now}; "
                "get it again, or leave resourceVersion out"
            )

    def _outcome(self, manifest: Manifest) -> str:
        old = self._registry.get(_key(manifest))
        if old is None:
            return CREATED
        return UNCHANGED if changed_by(old, manifest) is old else CONFIGURED

    def _apply(self, manifest: Manifest, owner: str | None = None) -> str:
        old = self._registry.get(_key(manifest))
        references = RECONCILERS[manifest.kind].references(manifest.spec, manifest.namespace)
        if old is None:
            kept, outcome = self._registry.add(object_of(manifest, owner), references, self._along), CREATED
        elif (new := changed_by(old, manifest)) is old:
            kept, outcome = old, UNCHANGED
        else:
            kept, outcome = self._registry.change(new, references, self._along), CONFIGURED
        self._reconcile(kept)
        if outcome != UNCHANGED:
            self._reconcile_dependents(kept.key)
            self._count_subscriber(kept)
        return outcome

    # Reconciling

    def _reconcile(self, kept: Object) -> None:
        """Bring the store to what an object asks for, and store its conditions."""
        if kept.kind == CHANNEL:
            self._reconcile_backing(kept)
        made = RECONCILERS[kept.kind].act(self._deployment, kept)
        conditions = with_ready(RECONCILERS[kept.kind].observe(self._deployment, kept).conditions)
        self._change(kept.key, lambda now: _reconciled(now, kept, conditions, made=made))

    def _reconcile_backing(self, channel: Object) -> None:
        manifest = backing_of(channel)
        there = self._registry.get(_key(manifest))
        if there is None or there.owner == channel.uid:
            self._apply(manifest, channel.uid)

    def _change(self, key: ObjectKey, change: Callable[[Object], Object]) -> None:
        """Change a stored object; try again when another process changes it at the same time."""
        for _ in range(_ATTEMPTS):
            now = self._registry.get(key)
            if now is None or (changed := change(now)) == now:
                return
            with suppress(Conflict):
                self._registry.change(changed, along=self._along)
                return
        raise Conflict(f"{key} keeps being changed by others; try again")

    def _count_subscriber(self, kept: Object) -> None:
        """Increase the generation of a subscription's channel, whose spec includes its subscribers."""
        if kept.kind != SUBSCRIPTION:
            return
        key = channel_key(kept.spec, kept.namespace)
        channel = self._registry.get(key)
        if channel is not None and key.kind == CHANNEL:
            key = ObjectKey(backing_kind(channel.spec)[0], key.namespace, key.name)
        self._change(key, lambda now: replace(now, generation=now.generation + 1, observed=now.observed + 1))

    def _reconcile_dependents(self, key: ObjectKey) -> None:
        for dependent in self._registry.referring_to(key):
            self._reconcile(dependent)

    def repair(self) -> int:
        """Reconcile objects that a dead process left unfinished; return their number."""
        pending = sorted(self._registry.pending(), key=lambda each: each.kind.rank)
        for kept in pending:
            self._reconcile(kept)
            self._reconcile_dependents(kept.key)
        return len(pending)

    # Showing

    def get(self, key: ObjectKey) -> dict[str, Any]:
        """Show an object with its current status, or raise NotFound."""
        found = self._registry.get(key)
        if found is None:
            raise NotFound(key.kind.name, f"{key.namespace}/{key.name}")
        return self._document(found)

    def list(self, kind: ObjectKind, namespaces: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Show the objects of a kind, in some namespaces or in all."""
        return [self._document(each) for each in self._registry.find(kind, namespaces)]

    def _document(self, kept: Object) -> dict[str, Any]:
        seen = RECONCILERS[kept.kind].observe(self._deployment, kept)
        now = replace(kept, conditions=dated(with_ready(seen.conditions), kept.conditions))
        return document_of(kept if now == kept else self._stored(now), seen)

    def _stored(self, now: Object) -> Object:
        try:
            return self._registry.change(now)
        except Conflict:
            return now  # another process is changing it, and stores its conditions

    # Deleting

    def delete(self, key: ObjectKey) -> dict[str, Any]:
        """Delete an object, its subscriptions and the channel that was created for it; show what it was."""
        shown = self.get(key)
        kept = self._registry.get(key)
        if kept is not None:
            if kept.owner is not None:
                raise Conflict(f"{key} backs Channel {key.namespace}/{key.name}; delete that one")
            self._remove(kept)
        return shown

    def _remove(self, kept: Object) -> None:
        sync(self._deployment, kept.uid, {})
        self._registry.remove(kept.uid, self._along)
        self._reconcile_dependents(kept.key)
        self._count_subscriber(kept)
        if kept.kind == CHANNEL:
            backing = self._registry.get(ObjectKey(backing_kind(kept.spec)[0], kept.namespace, kept.name))
            if backing is not None and backing.owner == kept.uid:
                self._remove(backing)
        elif kept.kind.is_addressable:
            remove_channel(self._deployment, kept)


def _reconciled(now: Object, acted: Object, conditions: Iterable[Condition], *, made: bool) -> Object:
    return replace(
        now,
        observed=max(now.observed, acted.generation) if now.uid == acted.uid else now.observed,
        made_channel=now.made_channel or made,
        conditions=dated(conditions, now.conditions),
    )


def _key(manifest: Manifest) -> ObjectKey:
    return ObjectKey(manifest.kind, manifest.namespace, manifest.name)
