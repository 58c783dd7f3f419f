"""A channel as the API takes it: its name, and how subscriptions without a delivery object are delivered."""

from __future__ import annotations

from typing import Any

from headrace.errors import InvalidChannel
from headrace.subscriptions.channel import ChannelName, check_channel
from headrace.subscriptions.delivery_spec import check_delivery

_FORM = 'a channel is an object of the form {"namespace": "…", "name": "…", "delivery": {…}}; delivery may be absent'
_OURS = ("url",)


def parse_channel_document(
    document: object, named: ChannelName | None = None
) -> tuple[ChannelName, dict[str, Any] | None]:
    """Return name and delivery object. Where the address has named the channel, the document may leave its name out."""
    if not isinstance(document, dict):
        raise InvalidChannel(_FORM)
    known = {"namespace", "name", "delivery", *_OURS}
    required = set() if named else {"namespace", "name"}
    if not required <= set(document) <= known:
        raise InvalidChannel(_FORM)
    given = {} if named is None else named._asdict()
    parts = given | {part: document[part] for part in ("namespace", "name") if part in document}
    channel = check_channel(parts["namespace"], parts["name"])
    if named is not None and channel != named:
        raise InvalidChannel(f"the document names channel {channel}, the address {named}")
    delivery = document.get("delivery")
    faults = [] if delivery is None else check_delivery(delivery, "delivery")
    if faults:
        raise InvalidChannel("; ".join(f"{path}: {problem}" for path, problem in faults), faults)
    return channel, delivery
