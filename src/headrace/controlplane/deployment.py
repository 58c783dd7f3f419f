"""Where objects are deployed: the store with its channels and subscriptions, and the addresses of channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from headrace.controlplane.admission.parts import referred_kind
from headrace.controlplane.objects import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.controlplane.registry import Registry
    from headrace.database.companion import Companion
    from headrace.events.positions import LogPosition
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.store.store import Store


class Unresolved(Exception):
    """A reference to an object that doesn't exist, or has no address yet."""

    def __init__(self, key: ObjectKey) -> None:
        super().__init__(f"{key} does not exist")
        self.key = key


@dataclass(frozen=True, slots=True)
class Deployment:
    """`address` is the base URL of the ingress, without a trailing slash; `along` is written with the first change."""

    store: Store
    registry: Registry
    end_of_log: Callable[[], LogPosition]
    address: str
    along: Companion | None = None

    def url_of(self, channel: ChannelName) -> str:
        """Return the URL of a channel."""
        return f"{self.address}/channels/{channel}"

    def resolve(self, destination: Mapping[str, Any], namespace: str) -> str:
        """Return the URI of a destination, or raise Unresolved."""
        if (key := reference_of(destination, namespace)) is None:
            return str(destination["uri"])
        found = self.registry.get(key)
        if found is None:
            raise Unresolved(key)
        url = self.url_of(found.channel)
        return urljoin(url + "/", destination["uri"].lstrip("/")) if destination.get("uri") else url

    def resolve_delivery(self, spec: Mapping[str, Any], namespace: str) -> dict[str, Any] | None:
        """Return the delivery object of a spec with a resolved dead-letter sink, or raise Unresolved."""
        if (delivery := spec.get("delivery")) is None:
            return None
        resolved = {name: value for name, value in delivery.items() if value is not None}
        if "deadLetterSink" in resolved:
            resolved["deadLetterSink"] = {"uri": self.resolve(resolved["deadLetterSink"], namespace)}
        return resolved


def reference_of(destination: Mapping[str, Any] | None, namespace: str) -> ObjectKey | None:
    """Return the object that a destination refers to, if any."""
    ref = (destination or {}).get("ref")
    kind = referred_kind(ref) if ref else None
    return ObjectKey(kind, namespace, ref["name"]) if ref and kind else None
