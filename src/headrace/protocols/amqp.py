"""AMQP 1.0: the node is in the settings or in the address, `amqp://host/address`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import AddressForm
from headrace.documents.forms import Member
from headrace.documents.kinds import Kind, mapping, one_of, text
from headrace.protocols.protocol import Protocol
from headrace.protocols.rules import has_setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.addresses import Address
    from headrace.documents.faults import Faults
    from headrace.documents.kinds import Problems

_symbol = text(255, r"[\x20-\x7e]+", "a name in ASCII")


def _check_property(value: Any) -> Problems:
    if not isinstance(value, str | int | float | bool):
        yield "", "has to be a string, a number, true or false"


_property = Kind(
    {"type": ["string", "number", "boolean"]}, _check_property, "a string, a number, true or false"
)


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
        "address": Member(
            text(2048),
            "The node: a queue, topic or exchange, as the server names it. Required, unless the sink has it.",
        ),
        "linkname": Member(
            text(255),
            "The link's name. Where none is given each link has a random one. A link with a name has a connection of "
            "its own.",
        ),
        "sendersettlementmode": Member(
            one_of("settled", "unsettled"),
            "`unsettled`: done when the node accepted the message. `settled`: done when it is handed to the network; "
            "**it may be lost**, and nobody will know.",
            "unsettled",
        ),
        "linkproperties": Member(
            mapping(_symbol, _property, "a map of names to strings, numbers, true or false"),
            "Properties of the link.",
        ),
        "mode": Member(
            one_of("binary", "structured"),
            "`binary`: attributes are application properties `cloudEvents_…`, the media type is the content type. "
            "`structured`: a JSON document.",
            "binary",
        ),
    },
    check_address=_check_address,
    rules=(_ONE_ADDRESS,),
)
