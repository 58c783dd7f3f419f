"""The safe of a deployment, for the processes that seal or open: the control API and the dispatcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.subscriptions.secrets.keys import keys_from
from headrace.subscriptions.secrets.safe import Safe

if TYPE_CHECKING:
    from headrace.subscriptions.settings import StoreSettings


def open_safe(store: StoreSettings, patience: float) -> Safe:
    """Open it with the keys that the configuration names; they are read when they are needed."""
    return Safe(store.url, keys_from(store.secrets_file, store.secrets_keys), patience)
