"""What there is to know of a protocol before anything is sent: its addresses, its settings, its credentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.secrets.credential import CredentialType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.documents.addresses import Address, AddressForm
    from headrace.documents.faults import Faults
    from headrace.documents.forms import Member


def no_more(_: Address, __: Mapping[str, Any]) -> Faults:
    """Find nothing: settings and address can't contradict each other."""
    return []


def no_conflict(_: Mapping[str, Any], __: CredentialType) -> Faults:
    """Find nothing: settings and credential can't contradict each other."""
    return []


@dataclass(frozen=True, slots=True)
class Protocol:
    """`address` is the form of a sink's address.

    `target` is the setting that names the destination at the broker, where a protocol has such a thing; the path of
    the address may name it instead where the form says so.

    `check_address` looks at the address and the settings that were found good, together; `check_credential` at these
    settings and the type of the credential; `rules` say the same of a subscription as JSON Schema, as far as that goes.
    `complete` adds to the settings what the address says. `delivery` are the members of a delivery object that mean
    something to it; None for all.
    """

    address: AddressForm
    settings: Mapping[str, Member]
    target: str | None = None
    has_sink: bool = True
    delivery: tuple[str, ...] | None = None
    credentials: tuple[CredentialType, ...] = tuple(CredentialType)
    check_address: Callable[[Address, Mapping[str, Any]], Faults] = no_more
    check_credential: Callable[[Mapping[str, Any], CredentialType], Faults] = no_conflict
    rules: tuple[Mapping[str, Any], ...] = ()
    complete: Callable[[Address, Mapping[str, Any]], Mapping[str, Any]] = lambda _, settings: settings
