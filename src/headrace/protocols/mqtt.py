"""MQTT: version 3.1.1 has no properties, so an event goes there in structured mode only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import AddressForm
from headrace.documents.forms import Member
from headrace.documents.kinds import NO_CONTROLS, Kind, flag, mapping, one_of, text, whole
from headrace.protocols.protocol import Protocol

if TYPE_CHECKING:
    from headrace.documents.kinds import Problems

_LONGEST = 65_535  # of any text in a packet
_SECONDS = 2**32 - 1
_EXAMPLE = "mqtt://host:port, or mqtts:// for TLS"
# In binary mode these are user properties of the same packet.
_ATTRIBUTES = {"specversion", "id", "source", "type", "subject", "time", "dataschema", "datacontenttype"}
_text = text(_LONGEST, f"{NO_CONTROLS}*")


def _check_name(name: Any) -> Problems:
    if not name or any(_text(name)):
        yield "", "is not a name"
    elif name in _ATTRIBUTES:
        yield "", "is an attribute of the event, which Headrace sets itself"


_name = Kind({**_text.schema, "minLength": 1, "not": {"enum": sorted(_ATTRIBUTES)}}, _check_name, "a name")
_COMMON = {
    "topicname": Member(
        text(_LONGEST, r"[^+#\x00-\x1f\x7f]+", "a name of a topic (without the wildcards + and #)"),
        "Where to publish. Required.",
    ),
    "qos": Member(
        whole(0, 2),
        "`1`: done when the server acknowledged. `2`: done after all four packets. `0`: done when the event is "
        "handed to the network; **it may be lost**, and nobody will know.",
        1,
    ),
    "retain": Member(
        flag,
        "`true`: the server keeps the last event of the topic for those who subscribe later.",
        default=False,
    ),
}

MQTT3 = Protocol(
    address=AddressForm(("mqtt", "mqtts"), _EXAMPLE),
    target="topicname",
    settings={
        **_COMMON,
        "mode": Member(
            one_of("structured"),
            "MQTT 3.1.1 has no properties, so an event is always a JSON document.",
            "structured",
        ),
    },
)

MQTT5 = Protocol(
    address=AddressForm(("mqtt", "mqtts"), _EXAMPLE),
    target="topicname",
    settings={
        **_COMMON,
        "expiry": Member(
            whole(1, _SECONDS), "Seconds after which the server drops an event that it could not pass on."
        ),
        "userproperties": Member(
            mapping(_name, _text, "a map of names to strings"),
            "Added to each publication. In binary mode a consumer takes them for extensions of the event: they stand "
            "beside its attributes, which have no prefix.",
        ),
        "mode": Member(
            one_of("binary", "structured"),
            "`binary`: attributes are user properties, the media type is the content type. `structured`: a JSON "
            "document.",
            "binary",
        ),
    },
)
