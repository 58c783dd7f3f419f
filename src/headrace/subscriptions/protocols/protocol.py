"""What there is to know of a protocol before anything is sent: its addresses, its settings, its credentials."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.documents.faults import Faults
    from headrace.subscriptions.protocols.addresses import Address
    from headrace.subscriptions.protocols.kinds import Kind


class CredentialType(StrEnum):
    """The types that the Subscriptions API predefines."""

    PLAIN = "PLAIN"
    ACCESSTOKEN = "ACCESSTOKEN"
    REFRESHTOKEN = "REFRESHTOKEN"


ALL_TYPES = tuple(CredentialType)


@dataclass(frozen=True, slots=True)
class Setting:
    """`check` is the kind of its value. A `default` of None is none."""

    check: Kind
    default: Any = None


def no_more(_: Address, __: Mapping[str, Any]) -> Faults:
    """Find nothing: settings and address can't contradict each other."""
    return []


def no_conflict(_: Mapping[str, Any], __: CredentialType) -> Faults:
    """Find nothing: settings and credential can't contradict each other."""
    return []


@dataclass(frozen=True, slots=True)
class Protocol:
    """`example` is an address as users should write it.

    `target` is the setting that names a place at the broker, where a protocol has such a thing; with `target_in_path`
    the path of the address may name it instead, else an address has no path.

    `check_address` looks at the address and the settings that were found good, together; `check_credential` at these
    settings and the type of the credential; `rules` say the same of a subscription as JSON Schema, as far as that goes.
    `complete` adds to the settings what the address says. `delivery` are the members of a delivery object that mean
    something to it; None for all.
    """

    schemes: tuple[str, ...]
    example: str
    settings: Mapping[str, Setting]
    several_hosts: bool = False
    has_query: bool = False
    target: str | None = None
    target_in_path: bool = False
    has_sink: bool = True
    delivery: tuple[str, ...] | None = None
    credentials: tuple[CredentialType, ...] = ALL_TYPES
    check_address: Callable[[Address, Mapping[str, Any]], Faults] = no_more
    check_credential: Callable[[Mapping[str, Any], CredentialType], Faults] = no_conflict
    rules: tuple[Mapping[str, Any], ...] = ()
    complete: Callable[[Address, Mapping[str, Any]], Mapping[str, Any]] = lambda _, settings: settings
