"""How the gate finds the resources that requests name by id, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api.access.permissions import Target
from headrace.api.access.resources import Resource
from headrace.api.handlers.attempts import attempt_number
from headrace.errors import NotFound
from headrace.subscriptions.channels.name import ChannelName

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.access.resources import Finders
    from headrace.auth.keys.store import KeyStore
    from headrace.jobs.jobs import Jobs
    from headrace.ledger.records.records import Records
    from headrace.subscriptions.store.store import Store


def resource_finders(store: Store, keys: KeyStore, jobs: Jobs, records: Records) -> Finders:
    """Return what finds the resources of each kind."""
    return {
        Target.SUBSCRIPTION: _subscriptions(store),
        Target.CHANNEL: _channels(store),
        Target.JOB: lambda job_id: _of(jobs.get(job_id).namespace),
        Target.ATTEMPT: _attempts(store, records),
        Target.REDRIVE: lambda redrive_id: _of(records.redrives.get(redrive_id).namespace),
        Target.KEY: lambda key_id: Resource(keys.get(key_id).namespaces),
    }


def _of(namespace: str | None) -> Resource:
    return Resource(None if namespace is None else (namespace,))


def _attempts(store: Store, records: Records) -> Callable[[str], Resource]:
    def look(number: str) -> Resource:
        tried = records.attempt(attempt_number(number)).attempt
        try:
            return _of(store.get(tried.subscription).channel.namespace)
        except NotFound:
            return _of(records.owner(tried.subscription))

    return look


def _subscriptions(store: Store) -> Callable[[str], Resource]:
    def look(subscription_id: str) -> Resource:
        found = store.get(subscription_id)
        return Resource((found.channel.namespace,), found.document() | {"paused": found.paused})

    return look


def _channels(store: Store) -> Callable[[str], Resource]:
    def look(name: str) -> Resource:
        namespace, _, last = name.partition("/")
        return Resource((namespace,), store.channel(ChannelName(namespace, last)).document())

    return look
