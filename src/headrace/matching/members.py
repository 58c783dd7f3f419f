"""How a matcher files its subscriptions: each distinct filter once, with everyone who has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.filter import Filter
    from headrace.matching.scope import Channel, Scope


@dataclass(frozen=True, slots=True)
class Member:
    """A subscription. `order` counts the calls of `add`: answers list subscriptions by it."""

    subscription: str
    order: int
    filter_: Filter
    scope: Scope | None

    @property
    def channel(self) -> Channel | None:
        """The channel it is filed under; None where it sees every event."""
        return None if self.scope is None else self.scope.address


@dataclass(slots=True, eq=False)
class SharedFilter:
    """A filter and its members by channel. One per distinct filter, so its identity stands for the filter."""

    filter_: Filter
    members: dict[Channel | None, dict[str, Member]] = field(default_factory=dict)

    def seen_from(self, channel: Channel | None) -> Iterator[Member]:
        """Yield the members of the channel, and those that see every event."""
        nobody: dict[str, Member] = {}
        everywhere = self.members.get(None, nobody)
        return chain(
            () if channel is None else self.members.get(channel, nobody).values(), everywhere.values()
        )


class Register:
    """Every shared filter, by itself and by the channels that have members for it."""

    def __init__(self) -> None:
        self._shared: dict[Filter, SharedFilter] = {}
        self._by_channel: dict[Channel | None, dict[SharedFilter, None]] = {}

    def insert(self, member: Member) -> None:
        """File a member whose subscription isn't filed yet."""
        shared = self._shared.setdefault(member.filter_, SharedFilter(member.filter_))
        shared.members.setdefault(member.channel, {})[member.subscription] = member
        self._by_channel.setdefault(member.channel, {})[shared] = None

    def remove(self, member: Member) -> None:
        """Take a member out, and whatever nobody else needs."""
        shared = self._shared[member.filter_]
        members = shared.members[member.channel]
        del members[member.subscription]
        if members:
            return
        del shared.members[member.channel]
        filters = self._by_channel[member.channel]
        del filters[shared]
        if not filters:
            del self._by_channel[member.channel]
        if not shared.members:
            del self._shared[member.filter_]

    def filters_of(self, channel: Channel | None) -> Iterator[SharedFilter]:
        """Yield each filter that some member seen from the channel has, once."""
        nothing: dict[SharedFilter, None] = {}
        everywhere = self._by_channel.get(None, nothing)
        if channel is None:
            return iter(everywhere)
        here = self._by_channel.get(channel, nothing)
        return chain(here, (shared for shared in everywhere if shared not in here))
