"""A channel as the API takes it: its name, how subscriptions are delivered, and what they may have in their config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidChannel
from headrace.subscriptions.channels.config_keys import parse_declarations
from headrace.subscriptions.channels.name import ChannelName, check_channel
from headrace.subscriptions.delivery.spec import check_delivery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults
    from headrace.subscriptions.channels.config_keys import ConfigKey

_FORM = (
    'a channel is an object of the form {"namespace": "…", "name": "…", "delivery": {…}, "subscriptionconfig": {…}}; '
    "the last two may be absent"
)
_OURS = ("url",)
_MEMBERS = {"namespace", "name", "delivery", "subscriptionconfig", *_OURS}


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
    required = set() if named else {"namespace", "name"}
    if not required <= set(document) <= _MEMBERS:
        raise InvalidChannel(_FORM)
    given = {} if named is None else named._asdict()
    parts = given | {part: document[part] for part in ("namespace", "name") if part in document}
    name = check_channel(parts["namespace"], parts["name"])
    if named is not None and name != named:
        raise InvalidChannel(f"the document names channel {name}, the address {named}")
    delivery, config = document.get("delivery"), document.get("subscriptionconfig")
    faults: Faults = [] if delivery is None else check_delivery(delivery, "delivery")
    declared = {} if config is None else parse_declarations(config, "subscriptionconfig", faults)
    if faults:
        raise InvalidChannel("; ".join(f"{path}: {problem}" for path, problem in faults), faults)
    return Channel(name, delivery, declared)
