"""A subscription: the object of the CloudEvents Subscriptions API, and the part of the log for which it holds."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import FilterError, InvalidChannel, InvalidSubscription
from headrace.filters import compile_filter
from headrace.subscriptions.channel import DEFAULT_CHANNEL, ChannelName, parse_channel
from headrace.subscriptions.points import LATEST, Point, parse_point
from headrace.subscriptions.protocols import HTTP_DEFAULTS, Faults, check_protocol, check_sink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.events.positions import Cut

PROPERTIES = ("id", "source", "types", "config", "filters", "filter", "sink", "protocol", "protocolsettings")
_OURS = ("notes", "status")
_CONFIG = ("channel", "start")


@dataclass(frozen=True, slots=True)
class Subscription:
    """Sees exactly the events that lie before the cut `deleted` and not before the cut `created`.

    Each of the two is None until it has been settled; `deleting` says that the end was asked for. While it is `paused`
    its deliveries wait; `ended` says why the sink wants no more of them.
    """

    id: str
    channel: ChannelName
    sink: str
    protocol: str
    source: str | None = None
    types: tuple[str, ...] = ()
    filters: tuple[Any, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    protocolsettings: Mapping[str, Any] = field(default_factory=dict)
    created: Cut | None = None
    deleted: Cut | None = None
    deleting: bool = False
    paused: bool = False
    ended: str | None = None

    @property
    def start(self) -> Point:
        """The point from which it is delivered; `created` is where it is delivered live from."""
        return parse_point(self.config.get("start", LATEST), "config.start", [])

    def document(self) -> dict[str, Any]:
        """Return the object as the API shows it, defaults applied."""
        shown: dict[str, Any] = {"id": self.id}
        if self.source is not None:
            shown["source"] = self.source
        if self.types:
            shown["types"] = list(self.types)
        shown["config"] = {**self.config, "channel": str(self.channel)}
        shown["filters"] = list(self.filters)
        shown["sink"] = self.sink
        shown["protocol"] = self.protocol
        shown["protocolsettings"] = dict(self.protocolsettings)
        return shown


def parse_subscription(document: object) -> Subscription:
    """Check a proposed subscription and give it an id; InvalidSubscription lists every fault with its path.

    An `id` in the proposal is ignored, as the specification says, and so are `notes` and `status`, which are the
    service's own.
    """
    if not isinstance(document, dict):
        raise InvalidSubscription([("", "a subscription is a JSON object")])
    faults: Faults = [
        (str(key), f"unknown property; a subscription has: {', '.join(PROPERTIES)}")
        for key in document
        if key not in (*PROPERTIES, *_OURS)
    ]
    protocol = document.get("protocol", "HTTP")
    settings = document.get("protocolsettings", {})
    faults += check_protocol(protocol, settings)
    faults += check_sink(str(protocol), document.get("sink"))
    faults += _check_scope(document)
    channel = _channel_of(document, faults)
    filters = _filters_of(document, faults)
    if faults:
        raise InvalidSubscription(faults)
    return Subscription(
        id=str(uuid.uuid4()),
        channel=channel,
        sink=document["sink"],
        protocol=protocol,
        source=document.get("source"),
        types=tuple(document.get("types", ())),
        filters=filters,
        config=document.get("config", {}),
        protocolsettings={**HTTP_DEFAULTS, **settings},
    )


def _check_scope(document: dict[str, Any]) -> Faults:
    faults: Faults = []
    source, types = document.get("source"), document.get("types", [])
    if "source" in document and (not isinstance(source, str) or not source):
        faults.append(("source", "has to be a non-empty URI-reference"))
    if not isinstance(types, list) or not all(isinstance(item, str) and item for item in types):
        faults.append(("types", "has to be an array of non-empty strings"))
    return faults


def _channel_of(document: dict[str, Any], faults: Faults) -> ChannelName:
    config = document.get("config", {})
    if not isinstance(config, dict):
        faults.append(("config", "has to be an object"))
        return DEFAULT_CHANNEL
    faults += [
        (f"config.{key}", f"unknown key; this service has: {', '.join(_CONFIG)}")
        for key in config
        if key not in _CONFIG
    ]
    if "start" in config:
        parse_point(config["start"], "config.start", faults)
    try:
        return parse_channel(config.get("channel", str(DEFAULT_CHANNEL)))
    except InvalidChannel as error:
        faults.append(("config.channel", str(error)))
        return DEFAULT_CHANNEL


def _filters_of(document: dict[str, Any], faults: Faults) -> tuple[Any, ...]:
    if "filters" in document and "filter" in document:
        faults.append(("filter", "give either filters or filter"))
    name = "filter" if "filter" in document and "filters" not in document else "filters"
    given = document.get(name, [])
    filters = given if isinstance(given, list) else [given]
    try:
        compile_filter(filters)
    except FilterError as error:
        alone = name == "filter" and filters is not given
        path = error.path.removeprefix("filters[0]" if alone else "filters").removeprefix("filters")
        faults.append((name + path, error.detail))
    return tuple(filters)
