"""The gate of a deployment: keys, tokens, quotas and the record of changes, as the configuration says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from headrace.api.access.gate import Gate
from headrace.api.access.recorder import Recorder
from headrace.auth.audit.log import AuditLog
from headrace.auth.authentication import Authentication
from headrace.auth.keys.ring import KeyRing
from headrace.auth.keys.store import KeyStore
from headrace.auth.tokens.token import Tokens
from headrace.subscriptions.quotas.store import QuotaStore

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextlib import AsyncExitStack

    from headrace.api.access.resources import Finders
    from headrace.config import Config
    from headrace.database.database import Database

# About the longest that a revoked key stays good in another process, and a new one unknown.
_FOLLOW_SECONDS = 0.5


class AccessStores(NamedTuple):
    """Who may do what, and who did it."""

    keys: KeyStore
    quotas: QuotaStore
    audit: AuditLog


def open_access_stores(database: Database) -> AccessStores:
    """Open them in the store's database."""
    return AccessStores(KeyStore(database), QuotaStore(database), AuditLog(database))


def make_gate(config: Config, access: AccessStores, finders: Finders | None, opened: AsyncExitStack) -> Gate:
    """Make the gate. Changes are recorded where they are made, which is where there are finders."""
    authentication = None
    if config.auth.is_on:
        ring = KeyRing(access.keys, config.auth.admin_keys)
        keep_running(opened, ring.follow(_FOLLOW_SECONDS))
        opened.push_async_callback(ring.close)
        authentication = Authentication(ring, Tokens(config.auth.issuers, config.auth.leeway_seconds))
    recorder = None
    if finders is not None:
        recorder = Recorder(access.audit)
        keep_running(opened, recorder.forget(config.auth.audit_retention_seconds))
    return Gate(
        authentication,
        finders,
        recorder if config.auth.audit else None,
        open_publishing=config.auth.open_publishing,
        open_metrics=config.auth.open_metrics,
    )


def keep_running(opened: AsyncExitStack, follow: Coroutine[None, None, None]) -> None:
    """Follow something for as long as requests are served."""
    opened.callback(asyncio.create_task(follow).cancel)
