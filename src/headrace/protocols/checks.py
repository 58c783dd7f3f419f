"""The checks that all protocols share; each fault has its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import BadAddress, read_address
from headrace.documents.kinds import shown
from headrace.protocols.table import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults
    from headrace.secrets.credential import CredentialType

_SETTINGS = "protocolsettings"


def check_protocol(protocol: object, settings: object) -> Faults:
    """Tell what is wrong with the protocol's name (case matters) or its settings."""
    if not isinstance(protocol, str) or protocol not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        return [("protocol", f"{shown(protocol)} is not supported; this service delivers over: {known}")]
    if not isinstance(settings, dict):
        return [(_SETTINGS, "has to be an object")]
    known_settings = PROTOCOLS[protocol].settings
    faults: Faults = [
        (f"{_SETTINGS}.{key}", f"unknown setting; {protocol} has: {', '.join(sorted(known_settings))}")
        for key in settings
        if key not in known_settings
    ]
    for key, setting in known_settings.items():
        if key in settings:
            faults += [(f"{_SETTINGS}.{key}{path}", problem) for path, problem in setting.kind(settings[key])]
    return faults


def check_sink(protocol: str, sink: object, path: str = "sink") -> Faults:
    """Tell what is wrong with the address, for this protocol; a name that isn't known is no fault of the address."""
    if protocol in PROTOCOLS and not PROTOCOLS[protocol].has_sink:
        return [] if sink is None else [(path, f"{protocol} has none: events wait until they are asked for")]
    if not isinstance(sink, str) or not sink:
        return [(path, "is required and has to be a URI")]
    if protocol not in PROTOCOLS:
        return []
    try:
        read_address(protocol, PROTOCOLS[protocol].address, sink)
    except BadAddress as problem:
        return [(path, str(problem))]
    return []


def check_together(protocol: str, sink: str | None, settings: Mapping[str, Any]) -> Faults:
    """Tell whether an address and settings, each of them good, go together."""
    known = PROTOCOLS[protocol]
    if sink is None:
        return []
    address = read_address(protocol, known.address, sink)
    faults: Faults = []
    if known.target is not None and not known.address.path_names_target:
        if address.path:
            faults.append(("sink", f"has a path; {_SETTINGS}.{known.target} is the place for it"))
        if known.target not in settings:
            faults.append((f"{_SETTINGS}.{known.target}", "is required"))
    return faults + known.check_address(address, settings)


def check_credential_type(protocol: str, settings: Mapping[str, Any], type_: CredentialType) -> Faults:
    """Tell whether a protocol with these settings, which are good, can use a credential of this type."""
    known = PROTOCOLS[protocol]
    if not known.credentials:
        return [("sinkCredential", f"{protocol} has no sink that it could be for")]
    if type_ not in known.credentials:
        usable = ", ".join(known.credentials)
        return [("sinkCredential.credentialType", f"{protocol} can't use {type_}; it can use: {usable}")]
    return known.check_credential(settings, type_)


def check_delivery_members(protocol: str, delivery: Mapping[str, Any]) -> Faults:
    """Tell which members of a delivery object, each of them good, mean nothing to a protocol."""
    known = PROTOCOLS[protocol].delivery if protocol in PROTOCOLS else None
    if known is None:
        return []
    return [
        (f"config.delivery.{name}", f"means nothing to {protocol}; it has: {', '.join(known)}")
        for name in delivery
        if name not in known
    ]


def complete(protocol: str, sink: str | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return good settings in their normal form, with what the address says and with defaults applied."""
    known = PROTOCOLS[protocol]
    given = {key: known.settings[key].kind.normal(value) for key, value in settings.items()}
    defaults = {key: each.default for key, each in known.settings.items() if each.default is not None}
    if sink is None:
        return {**defaults, **given}
    return {**defaults, **known.complete(read_address(protocol, known.address, sink), given)}
