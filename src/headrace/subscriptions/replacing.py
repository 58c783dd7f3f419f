"""A subscription that becomes another one under its id: what it takes over from what it was.

Its secrets stay with it, so what may be shown of them stays too: credential, signing keys and masked headers. A
proposal that replaces a subscription therefore has none of its own; they are changed through the safe.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.subscriptions.masks import MASK

if TYPE_CHECKING:
    from headrace.subscriptions.subscription import Subscription


def replaced(old: Subscription, new: Subscription) -> Subscription:
    """Return what `old` becomes. That its sink is gone holds only as long as it has that sink.

    Be careful: secrets go to the new sink. Whoever may replace a subscription may send them where they like.
    """
    if new.secrets:
        raise ValueError("a subscription that replaces another one brings no secrets: the old ones stay")
    if new.protocol != old.protocol:
        raise ValueError(f"secrets for {old.protocol} are of no use to {new.protocol}")
    return replace(
        new,
        id=old.id,
        protocolsettings={**new.protocolsettings, **_shown_secrets(old, new)},
        sink_credential=old.sink_credential,
        created=old.created,
        deleted=old.deleted,
        deleting=old.deleting,
        paused=old.paused,
        ended=old.ended if new.sink == old.sink else None,
    )


def _shown_secrets(old: Subscription, new: Subscription) -> dict[str, Any]:
    shown = {name: value for name, value in old.protocolsettings.items() if name == "signing"}
    headers = old.protocolsettings.get("headers", {})
    if masked := {name: value for name, value in headers.items() if value == MASK}:
        shown["headers"] = {**new.protocolsettings.get("headers", {}), **masked}
    return shown
