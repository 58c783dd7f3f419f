"""JSON Schema of subscriptions: one variant per protocol, derived from the table of protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api.answers.subscriptions import ShownKey
from headrace.documents.addresses import address_schema
from headrace.documents.filter_schemas import FILTER, FILTERS
from headrace.documents.schemas import Named, described, record
from headrace.events.attributes import URI_REFERENCE
from headrace.protocols import PROTOCOLS
from headrace.protocols.rules import CREDENTIAL_NAMES, has_setting
from headrace.secrets.credential_schema import credential_schema
from headrace.secrets.signing_keys import SIGNING
from headrace.subscriptions.channels.name import CHANNEL_NAME
from headrace.subscriptions.delivery.members import DESTINATION, MEMBERS
from headrace.subscriptions.delivery.spec import DELIVERY
from headrace.subscriptions.points import POINT

if TYPE_CHECKING:
    from headrace.documents.schemas import Schema
    from headrace.protocols.protocol import Protocol

DEFAULT = "HTTP"
CREDENTIAL = Named("Credential", credential_schema())
_FILTERS = {"anyOf": [FILTERS, FILTER]}


def settings_schema(protocol: Protocol) -> Schema:
    """Return the schema of `protocolsettings`."""
    return record({name: setting.schema for name, setting in protocol.settings.items()})


def _with_shown_keys(protocol: Protocol) -> Schema:
    """Return the settings of an update, where an existing signing key may be given as it is shown."""
    schema = settings_schema(protocol)
    if "signing" in schema["properties"]:
        generated, keys = SIGNING["anyOf"]
        either = {"anyOf": [keys["items"], ShownKey]}
        schema["properties"]["signing"] |= {"anyOf": [generated, keys | {"items": either}]}
    return schema


def _variant(name: str, protocol: Protocol) -> Schema:
    required = ["sink"] * protocol.has_sink + ["protocol"] * (name != DEFAULT)
    schema: Schema = {
        "type": "object",
        "required": required,
        "properties": {
            "id": {"description": "Ignored by a creation; an import may keep it; an update can't change it."},
            "source": {
                "type": "string",
                "pattern": f"^{URI_REFERENCE}$",
                "description": "Only events of this source.",
                "examples": ["/sensors/tn-1234567/alerts"],
            },
            "types": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "description": "Only events of one of these types.",
            },
            "config": _config_of(name, protocol),
            "filters": {**_FILTERS, "description": "Filters that must all match."},
            "filter": {**_FILTERS, "description": "The same as `filters`."},
            **_sink(protocol),
            "protocol": {"const": name},
            "protocolsettings": Named(f"Settings{name}", _with_shown_keys(protocol)),
            "notes": {"description": "Ignored; set by the service."},
            "status": {"description": "Set by the service; an import reads `delivery`."},
        },
        "additionalProperties": False,
        "allOf": [
            {"not": {"required": ["filters", "filter"]}},
            {"not": {"required": list(CREDENTIAL_NAMES)}},
            *protocol.rules,
        ],
    }
    if protocol.target is not None:
        schema["allOf"].append(_names_target(protocol, protocol.target))
    return schema


def _config_of(name: str, protocol: Protocol) -> Named:
    if not protocol.has_sink:
        return Named("PullConfig", _pull_config())
    return _CONFIG if name == DEFAULT else _UNBATCHED_CONFIG


def _sink(protocol: Protocol) -> Schema:
    if not protocol.has_sink:
        return {"sink": {"type": "null", "description": "Pulled subscriptions have none."}}
    return {
        "sink": address_schema(protocol.address)
        | {"description": f"Where events go: {protocol.address.example}"},
        **dict.fromkeys(CREDENTIAL_NAMES, CREDENTIAL),
    }


def _names_target(protocol: Protocol, target: str) -> Schema:
    """Require the destination at the broker in the settings or, where the protocol allows it, in the address."""
    in_settings = has_setting(target)
    if not protocol.address.path_names_target:
        return in_settings
    in_path = {"properties": {"sink": address_schema(protocol.address, names_target=True)}}
    return {"anyOf": [in_settings, in_path]}


def _config() -> Schema:
    return {
        "type": "object",
        "description": "Which events the subscription gets, and how they are delivered.",
        "properties": {
            "channel": {"$ref": CHANNEL_NAME, "default": "default/default"},
            "start": described(POINT, "The first event to deliver; `latest` by default."),
            "delivery": DELIVERY,
            "reply": Named("Destination", DESTINATION),
        },
        "additionalProperties": {"description": "A key that the channel declares in `subscriptionconfig`."},
    }


def _unbatched_config() -> Schema:
    single = {"properties": {"batch": {"properties": {"size": {"maximum": 1}}}}}
    return {
        "description": "The same, for protocols without batches.",
        "allOf": [_CONFIG, {"properties": {"delivery": single}}],
    }


def _pull_config() -> Schema:
    """Return the part of the config that applies without a sink."""
    properties = {name: each for name, each in _config()["properties"].items() if name != "reply"}
    properties["delivery"] = record({name: MEMBERS[name].schema for name in PROTOCOLS["PULL"].delivery or ()})
    return _config() | {"properties": properties}


_CONFIG = Named("SubscriptionConfig", _config())
_UNBATCHED_CONFIG = Named("UnbatchedConfig", _unbatched_config())
VARIANTS = [Named(f"Subscription{name}", _variant(name, protocol)) for name, protocol in PROTOCOLS.items()]
"""A subscription over each protocol."""
