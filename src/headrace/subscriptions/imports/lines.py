"""Subscriptions from lines of JSON, each checked as a request for it would be."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.documents.json_text import NotJson, read_json
from headrace.errors import InvalidSubscription
from headrace.filters.compiled import compile_to_bytes, digest_of
from headrace.secrets.secrets import makes_keys
from headrace.subscriptions.imports.batch import Lot
from headrace.subscriptions.imports.kept_ids import id_within
from headrace.subscriptions.imports.line import as_it_stood
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.documents.faults import Faults
    from headrace.subscriptions.channels.config_keys import ConfigKey
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.subscription import Subscription

_MOST_COMPILED = 10_000
_ID = re.compile(r"[A-Za-z0-9._~-]{1,64}")
_MOST_TOLD = 1000


class Refusal(NamedTuple):
    """A line that can't become a subscription, and every fault of it."""

    line: int
    faults: Sequence[tuple[str, str]]


@dataclass(slots=True)
class Import:
    """What was read so far. Belongs to one thread at a time.

    `channels` are those that there are, each with the keys that it declares. A filter that many lines have is compiled
    once. `refusals` are the first of `refused`. Ids are one space over all tenants: who doesn't see all of them keeps
    an id within the namespace only.
    """

    channels: Mapping[ChannelName, Mapping[str, ConfigKey]]
    keep_ids: bool = False
    sees_all: bool = True
    lot: Lot = field(default_factory=Lot)
    lines: int = 0
    refused: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    namespaces: set[str] = field(default_factory=set)
    _compiled: dict[bytes, bytes] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)

    def read(self, lines: Sequence[bytes]) -> None:
        """Read some more lines; empty ones are only counted."""
        for line in lines:
            self.lines += 1
            if not line.strip():
                continue
            try:
                self._read(line)
            except InvalidSubscription as error:
                self.refused += 1
                if len(self.refusals) < _MOST_TOLD:
                    self.refusals.append(Refusal(self.lines, error.faults))

    def _read(self, line: bytes) -> None:
        try:
            document = read_json(line)
        except NotJson as error:
            raise InvalidSubscription([("", f"the line is not JSON: {error}")]) from None
        faults = self._id_faults(document) if self.keep_ids else []
        try:
            proposal = parse_subscription(document, self._declared, self._compile_once)
        except InvalidSubscription as error:
            raise InvalidSubscription([*faults, *error.faults]) from None
        if proposal.channel not in self.channels:
            faults.append(("config.channel", f"there is no channel {str(proposal.channel)!r}; make it first"))
        if makes_keys(document.get("protocolsettings", {})):
            faults.append(
                ("protocolsettings.signing", "give the key: one made here would be shown to nobody")
            )
        proposal = as_it_stood(proposal, document, faults)
        if faults:
            raise InvalidSubscription(faults)
        self.namespaces.add(proposal.channel.namespace)
        if self.keep_ids:
            self._ids.add(document["id"])
            self._keep(proposal, document["id"])
        else:
            self.lot.add(proposal)

    def _keep(self, proposal: Subscription, given: str) -> None:
        if self.sees_all:
            self.lot.add(replace(proposal, id=given))
        else:
            self.lot.add(replace(proposal, id=id_within(proposal.channel.namespace, given)), given)

    def _id_faults(self, document: Any) -> Faults:
        given = document.get("id") if isinstance(document, dict) else None
        if not isinstance(given, str) or not _ID.fullmatch(given):
            return [("id", "has to be there, to be kept: 1 to 64 letters, digits or any of - . _ ~")]
        return [("id", "stands in an earlier line as well")] if given in self._ids else []

    def _declared(self, channel: ChannelName) -> Mapping[str, ConfigKey]:
        return self.channels.get(channel, {})

    def _compile_once(self, filters: list[Any]) -> bytes:
        key = digest_of(filters)
        if key not in self._compiled:
            if len(self._compiled) >= _MOST_COMPILED:
                self._compiled = {}  # all of a large import would be too many
            self._compiled[key] = compile_to_bytes(filters)
        return self._compiled[key]
