"""The secret store: secrets of subscriptions, sealed, in the store's database.

A row is written in the transaction that writes its subscription, under the lock of the revision. Whoever drops a key
holds that lock too, so that nothing is ever sealed with a key that has gone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from headrace.database.patience import once, repeatable
from headrace.errors import NotFound, SecretsLocked
from headrace.secrets.cipher import seal, unseal
from headrace.secrets.credential_document import expiry_of, is_same
from headrace.secrets.rotation import Resealed
from headrace.secrets.secrets import Secrets
from headrace.subscriptions.status import timestamp
from headrace.subscriptions.store import overruns
from headrace.subscriptions.store.revisions import next_revision
from headrace.subscriptions.store.rows import edited, from_document, from_row
from headrace.subscriptions.tables import FAMILY, REVISION, SECRETS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Row

    from headrace.database.companion import Companion
    from headrace.database.database import Database
    from headrace.secrets.credential import Credential
    from headrace.secrets.keys import Key, Keys
    from headrace.subscriptions.subscription import Recipient, Subscription

_MAX_PROBLEM = 500


@dataclass(frozen=True, slots=True)
class Opened:
    """What a row holds, its version, which says whether it is still so, and to whom alone they may be sent."""

    secrets: Secrets
    version: int
    recipient: Recipient


@dataclass(frozen=True, slots=True)
class CredentialStatus:
    """When the access token expires, where there is one; what went wrong with getting a new one last, and when."""

    expires: str | None
    problem: str | None
    time: str | None


class SecretStore:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self.database = database
        self.keys = keys
        database.bring_up(FAMILY)

    def writing(self, subscription: Subscription) -> Callable[[Connection], None]:
        """Return what writes a proposal's secrets, in the transaction that creates the subscription."""

        def write(connection: Connection) -> None:
            if subscription.secrets:
                row = self._row(self._first_key(connection), subscription.id, subscription.secrets)
                connection.execute(insert(SECRETS).values(subscription=subscription.id, version=1, **row))

        return write

    @repeatable
    def open(self, subscription_id: str) -> Opened:
        """Return a subscription's secrets; SecretsLocked where they can't be opened, or aren't there."""
        its = SECRETS.c.subscription == subscription_id
        query = select(SECRETS, SUBSCRIPTIONS.c.document).join(SUBSCRIPTIONS).where(its)
        with self.database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise SecretsLocked(
                f"the store has no secrets of subscription {subscription_id}: delete it and create it anew"
            )
        recipient = from_document(subscription_id, row.document).recipient
        return Opened(self._unseal(row), row.version, recipient)

    @once
    def change(
        self,
        subscription_id: str,
        change: Callable[[Subscription, Secrets | None], Subscription],
        check: Callable[[Connection, Subscription], object] = lambda *_: None,
        along: Companion | None = None,
    ) -> Subscription:
        """Let a subscription be what `change` makes of it and its old secrets; return that. `check` may refuse it.

        `change` is given None for secrets that can't be opened; it keeps the channel and the cuts. Nothing is written
        where what it makes is no different. NotFound where there is no such subscription.
        """
        with self.database.writing(along) as connection:
            revision = next_revision(connection)  # before anything is read: nobody else changes it now
            its = SUBSCRIPTIONS.c.id == subscription_id
            row = connection.execute(select(SUBSCRIPTIONS).where(its, ~SUBSCRIPTIONS.c.deleting)).first()
            if row is None:
                raise NotFound("subscription", subscription_id)
            before = from_row(row)
            old = self._opened(connection, subscription_id)
            changed = change(before, old)
            if old == changed.secrets and before.document() == changed.document():
                return changed
            check(connection, changed)
            connection.execute(update(SUBSCRIPTIONS).where(its).values(edited(changed, revision)))
            if not changed.selects_as(before):
                overruns.forget(connection, subscription_id)
            if old != changed.secrets:
                stays = old is not None and is_same(old.credential, changed.secrets.credential)
                self._put(connection, subscription_id, changed.secrets, keeps_claim=stays)
        return replace(changed, edited=revision)

    def _opened(self, connection: Connection, subscription_id: str) -> Secrets | None:
        """Return the secrets of a subscription; None where they can't be opened."""
        found = select(SECRETS).where(SECRETS.c.subscription == subscription_id)
        sealed = connection.execute(found).first()
        try:
            return Secrets() if sealed is None else self._unseal(sealed)
        except SecretsLocked:
            return None

    def _put(
        self, connection: Connection, subscription_id: str, secrets: Secrets, *, keeps_claim: bool
    ) -> None:
        """Put secrets in the place of what there is. No version comes twice, even if there was nothing for a while.

        Who has claimed to refresh the credential goes on with that, where it stays.
        """
        its = SECRETS.c.subscription == subscription_id
        claimed = connection.execute(select(SECRETS.c.claimed_until).where(its)).scalar() or 0.0
        connection.execute(delete(SECRETS).where(its))
        if secrets:
            row = self._row(self._first_key(connection), subscription_id, secrets)
            row |= {"version": time.time_ns(), "claimed_until": claimed if keeps_claim else 0.0}
            connection.execute(insert(SECRETS).values(subscription=subscription_id, **row))

    # Refreshed tokens

    @repeatable
    def claim(self, subscription_id: str, version: int, now: float, until: float) -> bool:
        """Reserve the right to refresh what is still of this version; false where somebody else has it."""
        with self.database.writing() as connection:
            claimed = connection.execute(
                update(SECRETS)
                .where(
                    SECRETS.c.subscription == subscription_id,
                    SECRETS.c.version == version,
                    SECRETS.c.claimed_until < now,
                )
                .values(claimed_until=until)
            )
            return bool(claimed.rowcount)

    @repeatable
    def renew(self, subscription_id: str, spent: Credential, credential: Credential) -> bool:
        """Put a credential in the place of the one that was spent for it, whatever else has changed since.

        Nothing is done where another one is there by now: its owner gave it, or this was done already.
        """
        its = SECRETS.c.subscription == subscription_id
        with self.database.writing() as connection:
            lock_revision(connection)
            row = connection.execute(select(SECRETS).where(its)).first()
            now = Secrets() if row is None else self._unseal(row)
            if row is None or not is_same(now.credential, spent):
                return False
            sealed = self._row(
                self._first_key(connection), subscription_id, replace(now, credential=credential)
            )
            renewed = {"version": row.version + 1, "claimed_until": 0.0, "problem": None, "time": None}
            connection.execute(update(SECRETS).where(its).values(renewed | sealed))
            return True

    @repeatable
    def report(self, subscription_id: str, version: int, problem: str) -> None:
        """Say why a token could not be refreshed, and let others try."""
        with self.database.writing() as connection:
            connection.execute(
                update(SECRETS)
                .where(SECRETS.c.subscription == subscription_id, SECRETS.c.version == version)
                .values(claimed_until=0.0, problem=problem[:_MAX_PROBLEM], time=timestamp())
            )

    @repeatable
    def statuses(self, among: Sequence[str] | None = None) -> dict[str, CredentialStatus]:
        """Return how credentials fare that can expire, by subscription: of all, or of some."""
        query = select(SECRETS.c.subscription, SECRETS.c.expires, SECRETS.c.problem, SECRETS.c.time).where(
            SECRETS.c.expires.is_not(None)
        )
        if among is not None:
            query = query.where(SECRETS.c.subscription.in_(among))
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {row.subscription: CredentialStatus(row.expires, row.problem, row.time) for row in rows}

    # Keys

    @repeatable
    def count_by_key(self) -> dict[str, int]:
        """Return how many rows each key has sealed, by the key's id."""
        query = select(SECRETS.c.key, func.count()).group_by(SECRETS.c.key)
        with self.database.reading() as connection:
            return {key: count for key, count in connection.execute(query)}  # noqa: C416  rows are no pairs to mypy

    @repeatable
    def reseal(self, after: str, most: int) -> Resealed:
        """Seal rows anew that another key than the first has sealed: the next so many, in order of subscriptions."""
        ring, locked = self.keys.ring(), []
        with self.database.writing() as connection:
            lock_revision(connection)
            old = select(SECRETS).where(SECRETS.c.key != ring[0].id, SECRETS.c.subscription > after)
            rows = connection.execute(old.order_by(SECRETS.c.subscription).limit(most)).all()
            for row in rows:
                try:
                    content = unseal(ring, self.keys.where, row.key, row.subscription, row.sealed)
                except SecretsLocked:
                    locked.append(row.subscription)
                    continue
                connection.execute(
                    update(SECRETS)
                    .where(SECRETS.c.subscription == row.subscription)
                    .values(key=ring[0].id, sealed=seal(ring[0], row.subscription, content))
                )
        return Resealed(rows[-1].subscription if rows else None, len(rows) - len(locked), locked)

    @repeatable
    def when_unused(self, key_ids: set[str], then: Callable[[], None]) -> bool:
        """Do something while nobody can seal, if no row needs any of these keys."""
        with self.database.writing() as connection:
            lock_revision(connection)
            using = select(SECRETS.c.subscription).where(SECRETS.c.key.in_(key_ids)).limit(1)
            if connection.execute(using).first():
                return False
            then()
            return True

    def _unseal(self, row: Row[Any]) -> Secrets:
        return Secrets.from_json(
            unseal(self.keys.ring(), self.keys.where, row.key, row.subscription, row.sealed)
        )

    def _first_key(self, connection: Connection) -> Key:
        """Return the key that encrypts. The first one is made only while there is nothing that another has sealed."""
        ring = self.keys.ring()
        if not ring:
            if connection.execute(select(SECRETS.c.subscription).limit(1)).first():
                raise SecretsLocked(
                    f"there are secrets in the store and no key in {self.keys.where}; restore the key file "
                    "from a copy, or copy it from the machine where it was made"
                )
            ring = self.keys.make()
        return ring[0]

    def _row(self, key: Key, subscription_id: str, secrets: Secrets) -> dict[str, object]:
        return {
            "key": key.id,
            "sealed": seal(key, subscription_id, secrets.to_json()),
            "expires": expiry_of(secrets.credential),
        }


def lock_revision(connection: Connection) -> None:
    """Wait for changes of subscriptions under way, and keep others waiting until the transaction ends."""
    connection.execute(update(REVISION).values(value=REVISION.c.value))
