"""The control plane: applies manifests, shows objects, deletes them.

A set of manifests is checked as a whole before the first one is kept: either all are admitted or nothing is changed.
After that each object is settled on its own, and those that name it after it, so that the order of manifests means
nothing. A process that dies between leaves objects whose last change was not observed; `repair` takes them up.
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
from headrace.controlplane.objects import Key, Object, changed_by, is_resource_version, object_of
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
    from headrace.controlplane.kinds import Kind
    from headrace.documents.faults import Faults

_ATTEMPTS = 10
CREATED, CONFIGURED, UNCHANGED = "created", "configured", "unchanged"


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a manifest. `document` is the object as it is now, without one in a dry run."""

    key: Key
    outcome: str
    warnings: tuple[str, ...] = ()
    document: dict[str, Any] | None = None


class ControlPlane:
    """Calls block, so an event loop makes them in a thread. Several processes may work on one database."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._registry = deployment.registry

    # Applying

    def apply(
        self, documents: Sequence[Any], namespace: str = DEFAULT_NAMESPACE, *, dry_run: bool = False
    ) -> list[Applied]:
        """Bring objects to what the manifests say. InvalidManifest lists the faults of all of them."""
        admitted = self._admit(documents, namespace)
        if not dry_run:
            for manifest, _ in sorted(admitted, key=lambda each: each[0].kind.rank):
                self._check_version(manifest)
        outcomes: dict[Key, str] = {}
        for manifest, _ in sorted(admitted, key=lambda each: each[0].kind.rank):
            outcomes[_key(manifest)] = self._outcome(manifest) if dry_run else self._apply(manifest)
        return [
            Applied(key, outcomes[key], tuple(warnings), None if dry_run else self.get(key))
            for manifest, warnings in admitted
            for key in [_key(manifest)]
        ]

    def _admit(self, documents: Sequence[Any], namespace: str) -> list[tuple[Manifest, list[str]]]:
        faults: Faults = []
        manifests: dict[Key, Manifest] = {}
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

    def _check_name(self, manifest: Manifest, beside: dict[Key, Manifest]) -> None:
        """Two addressable objects of one name would be one channel."""
        key = _key(manifest)
        if key in beside:
            raise InvalidManifest([("", "is given twice")])
        if not key.kind.is_addressable:
            return
        there = [
            each.key for each in self._registry.named(key.namespace, key.name) if not self._is_pair(each, key)
        ]
        for other in (*there, *beside):
            if other[1:] == key[1:] and other.kind.is_addressable and other.kind != key.kind:
                taken = (
                    f"the channel {key.namespace}/{key.name} is that of {other} already; choose another name"
                )
                raise InvalidManifest([("metadata.name", taken)])

    def _is_pair(self, there: Object, key: Key) -> bool:
        """Tell a generic Channel and the channel that it stands on from two that contend for a name."""
        if key.kind == CHANNEL:
            found = self._registry.get(key)
            return found is not None and there.owner == found.uid
        mine = self._registry.get(key)
        return there.kind == CHANNEL and mine is not None and mine.owner == there.uid

    def _check_version(self, manifest: Manifest) -> None:
        """What was got here is changed only where it still is as it was got. A cluster's versions mean nothing here."""
        if not is_resource_version(manifest.resource_version):
            return
        old = self._registry.get(_key(manifest))
        if old is None or old.resource_version != manifest.resource_version:
            is_at = "it is not there" if old is None else f"it is at {old.resource_version!r}"
            raise Conflict(
                f"{manifest} was to be changed at resourceVersion {manifest.resource_version!r}, and {is_at}; "
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
            kept, outcome = self._registry.add(object_of(manifest, owner), references), CREATED
        elif (new := changed_by(old, manifest)) is old:
            kept, outcome = old, UNCHANGED
        else:
            kept, outcome = self._registry.change(new, references), CONFIGURED
        self._settle(kept)
        if outcome != UNCHANGED:
            self._settle_dependents(kept.key)
            self._count_subscriber(kept)
        return outcome

    # Settling

    def _settle(self, kept: Object) -> None:
        """Bring the store to what an object asks for, and note how it fares."""
        if kept.kind == CHANNEL:
            self._settle_backing(kept)
        made = RECONCILERS[kept.kind].act(self._deployment, kept)
        conditions = with_ready(RECONCILERS[kept.kind].observe(self._deployment, kept).conditions)
        self._note(kept.key, lambda now: _settled(now, kept, conditions, made=made))

    def _settle_backing(self, channel: Object) -> None:
        manifest = backing_of(channel)
        there = self._registry.get(_key(manifest))
        if there is None or there.owner == channel.uid:
            self._apply(manifest, channel.uid)

    def _note(self, key: Key, change: Callable[[Object], Object]) -> None:
        """Change what is noted of an object, whoever else does the same."""
        for _ in range(_ATTEMPTS):
            now = self._registry.get(key)
            if now is None or (changed := change(now)) == now:
                return
            with suppress(Conflict):
                self._registry.change(changed)
                return
        raise Conflict(f"{key} is changed by others all the time; try again")

    def _count_subscriber(self, kept: Object) -> None:
        """A subscription is part of its channel's spec: with it the channel's generation changes."""
        if kept.kind != SUBSCRIPTION:
            return
        key = channel_key(kept.spec, kept.namespace)
        channel = self._registry.get(key)
        if channel is not None and key.kind == CHANNEL:
            key = Key(backing_kind(channel.spec)[0], key.namespace, key.name)
        self._note(key, lambda now: replace(now, generation=now.generation + 1, observed=now.observed + 1))

    def _settle_dependents(self, key: Key) -> None:
        for dependent in self._registry.referring_to(key):
            self._settle(dependent)

    def repair(self) -> int:
        """Settle what a process left unfinished that died; return how many objects that were."""
        pending = sorted(self._registry.pending(), key=lambda each: each.kind.rank)
        for kept in pending:
            self._settle(kept)
            self._settle_dependents(kept.key)
        return len(pending)

    # Looking

    def get(self, key: Key) -> dict[str, Any]:
        """Show an object as it is at this moment, or raise NotFound."""
        found = self._registry.get(key)
        if found is None:
            raise NotFound(key.kind.name, f"{key.namespace}/{key.name}")
        return self._document(found)

    def list(self, kind: Kind, namespaces: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Show the objects of a kind, of some namespaces or of all."""
        return [self._document(each) for each in self._registry.find(kind, namespaces)]

    def _document(self, kept: Object) -> dict[str, Any]:
        seen = RECONCILERS[kept.kind].observe(self._deployment, kept)
        now = replace(kept, conditions=dated(with_ready(seen.conditions), kept.conditions))
        return document_of(kept if now == kept else self._noted(now), seen)

    def _noted(self, now: Object) -> Object:
        try:
            return self._registry.change(now)
        except Conflict:
            return now  # somebody else changes it at this moment, and notes it

    # Deleting

    def delete(self, key: Key) -> dict[str, Any]:
        """Remove an object with its subscriptions, and the channel that was made for it. Show what it was."""
        shown = self.get(key)
        kept = self._registry.get(key)
        if kept is not None:
            if kept.owner is not None:
                raise Conflict(f"{key} is what Channel {key.namespace}/{key.name} stands on; delete that one")
            self._remove(kept)
        return shown

    def _remove(self, kept: Object) -> None:
        sync(self._deployment, kept.uid, {})
        self._registry.remove(kept.uid)
        self._settle_dependents(kept.key)
        self._count_subscriber(kept)
        if kept.kind == CHANNEL:
            backing = self._registry.get(Key(backing_kind(kept.spec)[0], kept.namespace, kept.name))
            if backing is not None and backing.owner == kept.uid:
                self._remove(backing)
        elif kept.kind.is_addressable:
            remove_channel(self._deployment, kept)


def _settled(now: Object, acted: Object, conditions: Iterable[Condition], *, made: bool) -> Object:
    return replace(
        now,
        observed=max(now.observed, acted.generation) if now.uid == acted.uid else now.observed,
        made_channel=now.made_channel or made,
        conditions=dated(conditions, now.conditions),
    )


def _key(manifest: Manifest) -> Key:
    return Key(manifest.kind, manifest.namespace, manifest.name)
