"""Objects as they are stored: what their authors asked for, and their state."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.controlplane.kinds import CHANNELS
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.conditions import Condition
    from headrace.controlplane.kinds import ObjectKind
    from headrace.controlplane.manifest import Manifest

SUBSCRIBABLE = "messaging.knative.dev/subscribable"
"""The annotation with the version of the channelable duck type to which a channel conforms."""
_OUR_VERSION = "headrace-"


class ObjectKey(NamedTuple):
    """The name of an object."""

    kind: ObjectKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Object:
    """One object. `generation` counts changes of its spec; `observed` is the last generation that was reconciled."""

    kind: ObjectKind
    version: str
    namespace: str
    name: str
    spec: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    generation: int = 1
    observed: int = 0
    revision: int = 1
    created: str = field(default_factory=timestamp)
    made_channel: bool = False
    owner: str | None = None

    @property
    def key(self) -> ObjectKey:
        """Its name."""
        return ObjectKey(self.kind, self.namespace, self.name)

    @property
    def channel(self) -> ChannelName:
        """The channel of an addressable object."""
        return ChannelName(self.namespace, self.name)

    @property
    def resource_version(self) -> str:
        """The value of `metadata.resourceVersion`."""
        return f"{_OUR_VERSION}{self.revision}"


def is_resource_version(text: str | None) -> bool:
    """Tell whether a resource version is from here, and not from a cluster."""
    return text is not None and text.startswith(_OUR_VERSION)


def object_of(manifest: Manifest, owner: str | None = None) -> Object:
    """Make a new object from a manifest."""
    return Object(
        kind=manifest.kind,
        version=manifest.version,
        namespace=manifest.namespace,
        name=manifest.name,
        spec=manifest.spec,
        labels=manifest.labels,
        annotations=_annotations(manifest),
        owner=owner,
    )


def changed_by(old: Object, manifest: Manifest) -> Object:
    """Return the object as the manifest wants it; the same object if nothing changes."""
    wanted = replace(
        old,
        version=manifest.version,
        spec=manifest.spec,
        labels=manifest.labels,
        annotations=_annotations(manifest),
    )
    if wanted == old:
        return old
    return replace(wanted, generation=old.generation + (wanted.spec != old.spec))


def _annotations(manifest: Manifest) -> dict[str, str]:
    given = dict(manifest.annotations)
    return given | {SUBSCRIBABLE: manifest.version} if manifest.kind in CHANNELS else given
