"""A subscription: the object of the CloudEvents Subscriptions API, and the part of the log for which it holds."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import authority_of
from headrace.errors import FilterError, InvalidChannel, InvalidSubscription
from headrace.events.attributes import problem_1_0
from headrace.filters.compiled import compile_to_bytes, read_compiled
from headrace.protocols import (
    check_credential_type,
    check_delivery_members,
    check_protocol,
    check_sink,
    check_together,
    complete,
)
from headrace.protocols.pull import NAME as PULL
from headrace.protocols.rules import CREDENTIAL_NAMES
from headrace.secrets.credential import Plain
from headrace.secrets.credential_document import parse_credential, show_credential, type_of
from headrace.secrets.secrets import Secrets, is_masked, take_out
from headrace.subscriptions.channels.config_keys import check_keys, nothing_declared
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName, parse_channel
from headrace.subscriptions.delivery.members import Refused, read_destination
from headrace.subscriptions.delivery.spec import check_delivery
from headrace.subscriptions.points import LATEST, Point, parse_point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.documents.faults import Faults
    from headrace.events.positions import LogPosition
    from headrace.filters.filter import Filter
    from headrace.secrets.credential import Credential
    from headrace.subscriptions.channels.config_keys import Declared

PROPERTIES = (
    "id", "source", "types", "config", "filters", "filter", "sink", "sinkCredential", "protocol", "protocolsettings",
)  # fmt: skip
_NO_SECRETS = Secrets()
_OURS = ("notes", "status")


STATES = (ACTIVE, PAUSED, ENDED) = ("active", "paused", "ended")
"""Whether deliveries are made. What has ended is so, paused or not."""

Recipient = tuple[str, str, tuple[tuple[str, int | None], ...]]
"""To whom something is sent: over which protocol, by which scheme, and to which hosts and ports."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Sees exactly the events that lie before the cut `deleted` and not before the cut `created`.

    Each of the two is None until it has been settled; `deleting` says that the end was asked for. `sink_credential` is
    what may be shown of it. Only a proposal has `secrets`, until they are sealed: they never come back from the store.
    While it is `paused` its deliveries wait; `ended` says why the sink wants no more of them. One that is pulled has an
    empty `sink`. `edited` grows with each change of what its owner gave. `compiled` is what its filters were compiled
    to, if that was kept.
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
    sink_credential: Mapping[str, str] | None = None
    secrets: Secrets = field(default=_NO_SECRETS, repr=False, compare=False)
    created: LogPosition | None = None
    deleted: LogPosition | None = None
    deleting: bool = False
    paused: bool = False
    ended: str | None = None
    edited: int = field(default=0, compare=False)
    compiled: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def state(self) -> str:
        """Whether deliveries are made: one of STATES."""
        if self.ended is not None:
            return ENDED
        return PAUSED if self.paused else ACTIVE

    @property
    def is_pulled(self) -> bool:
        """Whether its events wait until a consumer asks for them."""
        return self.protocol == PULL

    @property
    def has_secrets(self) -> bool:
        """Whether the secret store holds something that its deliveries need."""
        return self.sink_credential is not None or is_masked(self.protocolsettings)

    @property
    def recipient(self) -> Recipient:
        """To whom its secrets were given, and to nobody else."""
        return self.protocol, *authority_of(self.sink)

    def selects_as(self, other: Subscription) -> bool:
        """Tell whether it wants the same events as another one."""
        mine, theirs = ((each.source, each.types, each.filters) for each in (self, other))
        return mine == theirs

    def compiled_filter(self) -> Filter:
        """Return its filters as one, compiled anew only where no compiled form was kept that can be used."""
        return read_compiled(self.filters, self.compiled)

    @property
    def delivery(self) -> Mapping[str, Any] | None:
        """The delivery object of its own, which replaces its channel's whole; `delivery_spec` reads it."""
        delivery: Mapping[str, Any] | None = self.config.get("delivery")
        return delivery

    @property
    def reply(self) -> str | None:
        """The address that events go to which the sink answers with."""
        reply: Mapping[str, str] = self.config.get("reply", {})
        return reply.get("uri")

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
        if self.sink:
            shown["sink"] = self.sink
        if self.sink_credential is not None:
            shown["sinkCredential"] = dict(self.sink_credential)
        shown["protocol"] = self.protocol
        shown["protocolsettings"] = dict(self.protocolsettings)
        return shown


def parse_subscription(
    document: object,
    declared: Declared = nothing_declared,
    compile_: Callable[[list[Any]], bytes] = compile_to_bytes,
) -> Subscription:
    """Check a proposed subscription and give it an id; InvalidSubscription lists every fault with its path.

    `declared` tells which keys its channel has for `config`; `compile_` raises FilterError.
    An `id` in the proposal is ignored, as the specification says, and so are `notes` and `status`, which are the
    service's own.
    """
    if not isinstance(document, dict):
        raise InvalidSubscription([("", "a subscription is a JSON object")])
    faults: Faults = [
        (str(key), f"unknown property; a subscription has: {', '.join(PROPERTIES)}")
        for key in document
        if key not in (*PROPERTIES, *_OURS, *CREDENTIAL_NAMES)
    ]
    protocol = document.get("protocol", "HTTP")
    settings = document.get("protocolsettings", {})
    wrong = _check_destination(protocol, document.get("sink"), settings)
    credential = _credential_of(document, faults, None if wrong else (protocol, settings))
    faults += wrong
    faults += _check_scope(document)
    channel = _channel_of(document, declared, faults)
    filters, compiled = _filters_of(document, faults, compile_)
    if faults:
        raise InvalidSubscription(faults)
    sink = document.get("sink")
    shown, signing, headers = take_out(complete(protocol, sink, settings))
    return Subscription(
        id=str(uuid.uuid4()),
        channel=channel,
        sink=sink or "",
        protocol=protocol,
        source=document.get("source"),
        types=tuple(document.get("types", ())),
        filters=filters,
        config=document.get("config", {}),
        protocolsettings=shown,
        sink_credential=None if credential is None else show_credential(credential),
        secrets=Secrets(credential, signing, headers),
        compiled=compiled,
    )


def _check_destination(protocol: Any, sink: Any, settings: Any) -> Faults:
    faults = check_protocol(protocol, settings) + check_sink(str(protocol), sink)
    return faults or check_together(protocol, sink, settings)


def _credential_of(
    document: dict[str, Any], faults: Faults, usable_by: tuple[str, dict[str, Any]] | None
) -> Credential | None:
    """Read the credential; where protocol and settings are good, it has to go with them."""
    given = [name for name in CREDENTIAL_NAMES if name in document]
    if len(given) > 1:
        faults.append((given[-1], f"give either {' or '.join(given)}"))
    if not given:
        return None
    credential = parse_credential(document[given[0]], faults)
    if credential is not None and usable_by is not None:
        protocol, settings = usable_by
        faults += check_credential_type(protocol, settings, type_of(credential))
        if protocol == "HTTP" and isinstance(credential, Plain) and ":" in credential.identifier:
            faults.append(
                ("sinkCredential.identifier", "has a colon, which Basic authentication can't carry")
            )
    return credential


def _check_scope(document: dict[str, Any]) -> Faults:
    faults: Faults = []
    types = document.get("types", [])
    if "source" in document and (problem := problem_1_0("source", document["source"])) is not None:
        faults.append(("source", problem))
    if not isinstance(types, list) or not all(isinstance(item, str) and item for item in types):
        faults.append(("types", "has to be an array of non-empty strings"))
    return faults


def _channel_of(document: dict[str, Any], declared: Declared, faults: Faults) -> ChannelName:
    config = document.get("config", {})
    if not isinstance(config, dict):
        faults.append(("config", "has to be an object"))
        return DEFAULT_CHANNEL
    if "start" in config:
        parse_point(config["start"], "config.start", faults)
    faults += _check_config(document, config)
    try:
        channel = parse_channel(config.get("channel", str(DEFAULT_CHANNEL)))
    except InvalidChannel as error:
        faults.append(("config.channel", str(error)))
        return DEFAULT_CHANNEL
    faults += check_keys(config, channel, declared(channel))
    return channel


def _check_config(document: dict[str, Any], config: dict[str, Any]) -> Faults:
    faults = check_delivery(config["delivery"], "config.delivery") if "delivery" in config else []
    protocol = document.get("protocol", "HTTP")
    if not faults and protocol != "HTTP" and config.get("delivery", {}).get("batch", {}).get("size", 1) > 1:
        faults.append(("config.delivery.batch", f"HTTP has batches; {protocol} sends each event alone"))
    if not faults and "delivery" in config:
        faults += check_delivery_members(str(protocol), config["delivery"])
    if "reply" in config and protocol == PULL:
        faults.append(("config.reply", f"{PULL} has no sink that could answer"))
    elif "reply" in config:
        try:
            read_destination(config["reply"])
        except Refused as refused:
            faults.append((f"config.reply{refused.inner}", refused.problem))
    return faults


def _filters_of(
    document: dict[str, Any], faults: Faults, compile_: Callable[[list[Any]], bytes]
) -> tuple[tuple[Any, ...], bytes | None]:
    if "filters" in document and "filter" in document:
        faults.append(("filter", "give either filters or filter"))
    name = "filter" if "filter" in document and "filters" not in document else "filters"
    given = document.get(name, [])
    filters = given if isinstance(given, list) else [given]
    compiled = None
    try:
        compiled = compile_(filters)
    except FilterError as error:
        alone = name == "filter" and filters is not given
        path = error.path.removeprefix("filters[0]" if alone else "filters").removeprefix("filters")
        faults.append((name + path, error.detail))
    return tuple(filters), compiled
