"""AMQP 1.0: the node is in the settings or in the address, `amqp://host/address`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import AddressForm
from headrace.protocols.kinds import Kind, one_of, text
from headrace.protocols.protocol import Protocol, Setting
from headrace.protocols.rules import has_setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.addresses import Address
    from headrace.documents.faults import Faults
    from headrace.protocols.kinds import Problems

_check_symbol = text(255, r"[\x20-\x7e]+", "a name in ASCII")
_LINK_PROPERTIES = {
    "type": "object",
    "propertyNames": _check_symbol.schema,
    "additionalProperties": {"type": ["string", "number", "boolean"]},
}


def _check_link_properties(value: Any) -> Problems:
    if not isinstance(value, dict):
        yield "", "has to be a map of names to strings, numbers, true or false"
        return
    for name, each in value.items():
        yield from ((f".{name}", problem) for _, problem in _check_symbol(name))
        if not isinstance(each, str | int | float | bool):
            yield f".{name}", "has to be a string, a number, true or false"


def _check_address(address: Address, settings: Mapping[str, Any]) -> Faults:
    if "address" in settings and address.path:
        return [
            ("protocolsettings.address", "the sink has a path, which is the address; give one of the two")
        ]
    if "address" not in settings and not address.path:
        return [("protocolsettings.address", "is required, unless the sink ends with /address")]
    return []


_ONE_ADDRESS = {
    "if": has_setting("address"),
    "then": {"properties": {"sink": {"pattern": "^[^/]*//[^/]*/?$"}}},
}

AMQP = Protocol(
    address=AddressForm(
        ("amqp", "amqps"), "amqp://host:port/address, or amqps:// for TLS", path_names_target=True
    ),
    target="address",
    settings={
        "address": Setting(text(2048)),
        "linkname": Setting(text(255)),
        "sendersettlementmode": Setting(one_of("settled", "unsettled"), "unsettled"),
        "linkproperties": Setting(Kind(_LINK_PROPERTIES, _check_link_properties)),
        "mode": Setting(one_of("binary", "structured"), "binary"),
    },
    check_address=_check_address,
    rules=(_ONE_ADDRESS,),
)
