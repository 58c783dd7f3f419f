"""Open the secret store, for the processes that encrypt or decrypt: the control API and the dispatcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.secrets.keys import keys_from
from headrace.subscriptions.store.secrets import SecretStore

if TYPE_CHECKING:
    from headrace.subscriptions.settings import StoreSettings


def open_secret_store(store: StoreSettings, patience: float) -> SecretStore:
    """Open the store with the configured keys, which are read when they are needed."""
    return SecretStore(store.url, keys_from(store.secrets_file, store.secrets_keys), patience)
