"""MQTT: version 3.1.1 has no properties, so an event goes there in structured mode only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import AddressForm
from headrace.protocols.kinds import NO_CONTROLS, Kind, flag, one_of, text, whole
from headrace.protocols.protocol import Protocol, Setting

if TYPE_CHECKING:
    from headrace.protocols.kinds import Problems

_LONGEST = 65_535  # of any text in a packet
_SECONDS = 2**32 - 1
_EXAMPLE = "mqtt://host:port, or mqtts:// for TLS"
# In binary mode these are user properties of the same packet.
_ATTRIBUTES = {"specversion", "id", "source", "type", "subject", "time", "dataschema", "datacontenttype"}
_check_text = text(_LONGEST, f"{NO_CONTROLS}*")
_USER_PROPERTIES = {
    "type": "object",
    "propertyNames": {**_check_text.schema, "minLength": 1, "not": {"enum": sorted(_ATTRIBUTES)}},
    "additionalProperties": _check_text.schema,
}


def _check_user_properties(value: Any) -> Problems:
    if not isinstance(value, dict):
        yield "", "has to be a map of names to strings"
        return
    for name, each in value.items():
        if not name or any(_check_text(name)):
            yield f".{name}", "is not a name"
        elif name in _ATTRIBUTES:
            yield f".{name}", "is an attribute of the event, which Headrace sets itself"
        yield from ((f".{name}", problem) for _, problem in _check_text(each))


_COMMON = {
    "topicname": Setting(
        text(_LONGEST, r"[^+#\x00-\x1f\x7f]+", "a name of a topic (without the wildcards + and #)")
    ),
    "qos": Setting(whole(0, 2), 1),
    "retain": Setting(flag, default=False),
}

MQTT3 = Protocol(
    address=AddressForm(("mqtt", "mqtts"), _EXAMPLE),
    target="topicname",
    settings={**_COMMON, "mode": Setting(one_of("structured"), "structured")},
)

MQTT5 = Protocol(
    address=AddressForm(("mqtt", "mqtts"), _EXAMPLE),
    target="topicname",
    settings={
        **_COMMON,
        "expiry": Setting(whole(1, _SECONDS)),
        "userproperties": Setting(Kind(_USER_PROPERTIES, _check_user_properties)),
        "mode": Setting(one_of("binary", "structured"), "binary"),
    },
)
