"""An object as it is kept: what its author asked for, and what has become of it."""

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
    from headrace.controlplane.kinds import Kind
    from headrace.controlplane.manifest import Manifest

SUBSCRIBABLE = "messaging.knative.dev/subscribable"
"""The annotation that says to which version of the channelable duck type a channel conforms."""
_OUR_VERSION = "headrace-"


class Key(NamedTuple):
    """What names an object."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Object:
    """One object. `generation` counts changes of its spec; `observed` is the last that was acted upon."""

    kind: Kind
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
    def key(self) -> Key:
        """What names it."""
        return Key(self.kind, self.namespace, self.name)

    @property
    def channel(self) -> ChannelName:
        """The channel that an addressable object stands for."""
        return ChannelName(self.namespace, self.name)

    @property
    def resource_version(self) -> str:
        """What stands in `metadata.resourceVersion`."""
        return f"{_OUR_VERSION}{self.revision}"


def is_resource_version(text: str | None) -> bool:
    """Tell a version that was got here from one that a cluster gave to an object of its own."""
    return text is not None and text.startswith(_OUR_VERSION)


def object_of(manifest: Manifest, owner: str | None = None) -> Object:
    """Make a new object of what a manifest asks for."""
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
    """Return the object as the manifest wants it; the old one itself where that is how it is already."""
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
