"""Where the gate finds whose things are that requests name by an id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api.access.permissions import Of
from headrace.api.access.resources import Thing, Things
from headrace.api.handlers.attempts import attempt_number
from headrace.errors import NotFound
from headrace.subscriptions.channels.name import ChannelName

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.auth.keys.store import KeyStore
    from headrace.jobs.jobs import Jobs
    from headrace.ledger.records.records import Records
    from headrace.subscriptions.store.store import Store


def things_of(store: Store, keys: KeyStore, jobs: Jobs, records: Records) -> Things:
    """Put together how each kind of thing is looked up."""
    return Things(
        {
            Of.SUBSCRIPTION: _subscriptions(store),
            Of.CHANNEL: _channels(store),
            Of.JOB: lambda job_id: _of(jobs.get(job_id).namespace),
            Of.ATTEMPT: _attempts(store, records),
            Of.REDRIVE: lambda redrive_id: _of(records.redrive(redrive_id).namespace),
            Of.KEY: lambda key_id: Thing(keys.get(key_id).namespaces),
        }
    )


def _of(namespace: str | None) -> Thing:
    return Thing(None if namespace is None else (namespace,))


def _attempts(store: Store, records: Records) -> Callable[[str], Thing]:
    def look(number: str) -> Thing:
        tried = records.attempt(attempt_number(number)).attempt
        try:
            return _of(store.get(tried.subscription).channel.namespace)
        except NotFound:
            return _of(records.owner(tried.subscription))

    return look


def _subscriptions(store: Store) -> Callable[[str], Thing]:
    def look(subscription_id: str) -> Thing:
        found = store.get(subscription_id)
        return Thing((found.channel.namespace,), found.document() | {"paused": found.paused})

    return look


def _channels(store: Store) -> Callable[[str], Thing]:
    def look(name: str) -> Thing:
        namespace, _, last = name.partition("/")
        return Thing((namespace,), store.channel(ChannelName(namespace, last)).document())

    return look
