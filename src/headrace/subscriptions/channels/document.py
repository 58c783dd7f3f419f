"""A channel as the API takes it: its name, how subscriptions are delivered, and what they may have in their config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.documents.schemas import Named, nullable, record
from headrace.errors import InvalidChannel
from headrace.subscriptions.channels.config_keys import DECLARATIONS, parse_declarations
from headrace.subscriptions.channels.name import LABEL, ChannelName, check_channel
from headrace.subscriptions.delivery.spec import DELIVERY, check_delivery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults
    from headrace.subscriptions.channels.config_keys import ConfigKey

_FORM = (
    'a channel is an object of the form {"namespace": "…", "name": "…", "delivery": {…}, "subscriptionconfig": {…}}; '
    "the last two may be absent"
)
_NAMES = {"namespace": LABEL, "name": LABEL}
_MEMBERS = {
    **_NAMES,
    "delivery": nullable(DELIVERY),
    "subscriptionconfig": nullable(DECLARATIONS),
    "url": {},  # passed over: the service shows it
}
CHANNEL_PROPOSAL = Named(
    "ChannelProposal",
    record(
        _MEMBERS,
        list(_NAMES),
        description="A channel to be made. What it was shown as may be sent back; `url` is passed over.",
        examples=[{"namespace": "default", "name": "orders", "delivery": {"retry": 3}}],
    ),
)
CHANNEL_CHANGE = Named(
    "ChannelChange",
    record(
        _MEMBERS,
        description="The channel as it should be. What it leaves out is taken away.",
        examples=[{"delivery": {"retry": 3}}],
    ),
)


@dataclass(frozen=True, slots=True)
class Channel:
    """`delivery` holds for subscriptions without a delivery object; `config` are keys that they may have besides."""

    name: ChannelName
    delivery: Mapping[str, Any] | None = None
    config: Mapping[str, ConfigKey] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return what can be set of it, as the API shows it."""
        shown: dict[str, Any] = self.name._asdict()
        if self.delivery is not None:
            shown["delivery"] = self.delivery
        if self.config:
            shown["subscriptionconfig"] = {key: each.document() for key, each in self.config.items()}
        return shown


def parse_channel_document(document: object, named: ChannelName | None = None) -> Channel:
    """Read a channel. Where the address has named it, the document may leave its name out."""
    if not isinstance(document, dict):
        raise InvalidChannel(_FORM)
    required = set() if named else set(_NAMES)
    if not required <= set(document) <= set(_MEMBERS):
        raise InvalidChannel(_FORM)
    given = {} if named is None else named._asdict()
    parts = given | {part: document[part] for part in _NAMES if part in document}
    name = check_channel(parts["namespace"], parts["name"])
    if named is not None and name != named:
        raise InvalidChannel(f"the document names channel {name}, the address {named}")
    delivery, config = document.get("delivery"), document.get("subscriptionconfig")
    faults: Faults = [] if delivery is None else check_delivery(delivery, "delivery")
    declared = {} if config is None else parse_declarations(config, "subscriptionconfig", faults)
    if faults:
        raise InvalidChannel("; ".join(f"{path}: {problem}" for path, problem in faults), faults)
    return Channel(name, delivery, declared)
