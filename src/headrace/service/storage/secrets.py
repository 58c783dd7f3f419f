"""Open the secret store, for the processes that encrypt or decrypt: the control API and the dispatcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.secrets.keys import keys_from
from headrace.subscriptions.store.secrets import SecretStore

if TYPE_CHECKING:
    from headrace.database.database import Database
    from headrace.subscriptions.settings import StoreSettings


def open_secret_store(settings: StoreSettings, database: Database) -> SecretStore:
    """Open the store with the configured keys, which are read when they are needed."""
    return SecretStore(database, keys_from(settings.secrets_file, settings.secrets_keys))
