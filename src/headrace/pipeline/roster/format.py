"""The file format of a roster: the subscriptions that a batch is matched against.

A base is a snapshot of the index, mapped and shared by all workers. A roster names a base and lists the changes since.
It carries the log positions between which subscriptions hold, so any roster written after the end of a batch was read
gives the same matches for that batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headrace.matching.settings import MatchingSettings
from headrace.pipeline.roster.bounds import Bound  # noqa: TC001  msgspec reads it at run time

if TYPE_CHECKING:
    from headrace.subscriptions.subscription import Subscription


class Entry(msgspec.Struct, array_like=True, frozen=True):
    """A subscription as workers need it."""

    id: str
    namespace: str
    channel: str
    source: str | None
    types: tuple[str, ...]
    filters: tuple[Any, ...]
    compiled: bytes | None = None


Changes = dict[str, Entry | None]
"""Entries by subscription id; None for a subscription that is gone."""


class Roster(msgspec.Struct):
    """The file name of the base, if there is one, and the changes since.

    `bounds` lists the subscriptions that begin or end behind what was routed when the roster was written.
    """

    base: str | None
    changes: Changes
    bounds: dict[str, Bound] = msgspec.field(default_factory=dict)
    matching: MatchingSettings = msgspec.field(default_factory=MatchingSettings)


def entry_of(subscription: Subscription) -> Entry:
    """Return what workers need of a subscription."""
    return Entry(
        subscription.id,
        subscription.channel.namespace,
        subscription.channel.name,
        subscription.source,
        subscription.types,
        subscription.filters,
        subscription.compiled,
    )


def differing(new: Changes, old: Changes) -> Changes:
    """Return the changes that `old` lacks or has differently."""
    return {each: entry for each, entry in new.items() if each not in old or old[each] != entry}
