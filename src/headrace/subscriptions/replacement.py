"""A subscription that becomes another one under its id: what it takes over from what it was.

Secrets are for those to whom they were given. They stay while protocol, scheme, hosts and ports of the sink stay, and
go with any of these: whoever may change a subscription can't have its secrets sent elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.secrets.masks import MASK

if TYPE_CHECKING:
    from headrace.subscriptions.subscription import Subscription


def successor(old: Subscription, new: Subscription) -> Subscription:
    """Return `new` under the id of `old`, with its cuts. That its sink is gone holds as long as it has that sink."""
    return replace(
        new,
        id=old.id,
        created=old.created,
        deleted=old.deleted,
        deleting=old.deleting,
        paused=old.paused,
        ended=old.ended if (new.protocol, new.sink) == (old.protocol, old.sink) else None,
        edited=old.edited,
    )


def replaced(old: Subscription, new: Subscription) -> Subscription:
    """Return what `old` becomes, where `new` can't tell of secrets: those of `old` stay if they may, and only those."""
    if new.secrets:
        raise ValueError("a subscription that replaces another one brings no secrets")
    becomes = successor(old, new)
    if new.recipient != old.recipient:
        return becomes
    return replace(
        becomes,
        protocolsettings={**new.protocolsettings, **_shown_secrets(old, new)},
        sink_credential=old.sink_credential,
    )


def _shown_secrets(old: Subscription, new: Subscription) -> dict[str, Any]:
    shown = {name: value for name, value in old.protocolsettings.items() if name == "signing"}
    headers = old.protocolsettings.get("headers", {})
    if masked := {name: value for name, value in headers.items() if value == MASK}:
        shown["headers"] = {**new.protocolsettings.get("headers", {}), **masked}
    return shown
