"""JSON Schema of subscriptions: one variant per protocol, derived from the table of protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.openapi.request_schemas import UNMASKED, request_schemas
from headrace.documents.addresses import address_schema, any_case
from headrace.events.attributes import URI_REFERENCE
from headrace.protocols import PROTOCOLS
from headrace.protocols.rules import CREDENTIAL_NAMES, has_setting
from headrace.secrets.masks import MASK, SENSITIVE
from headrace.secrets.signing_keys import SIGNING
from headrace.subscriptions.delivery.members import MEMBERS
from headrace.subscriptions.secret_changes import ROTATE

if TYPE_CHECKING:
    from headrace.protocols.protocol import Protocol

Schema = dict[str, Any]

_SCHEMAS = "#/components/schemas/"
_DEFAULT = "HTTP"


def proposal_schemas() -> dict[str, Schema]:
    """Return the schemas of requests that create a subscription or change it."""
    variants = {f"Subscription{name}": _variant(name, protocol) for name, protocol in PROTOCOLS.items()}
    settings = {f"Settings{name}": _with_shown_keys(protocol) for name, protocol in PROTOCOLS.items()}
    return {
        **request_schemas(list(variants)),
        **variants,
        **settings,
        "ProtocolName": {"enum": list(PROTOCOLS)},
        "SubscriptionConfig": _config(),
        "UnbatchedConfig": _unbatched_config(),
        "PullConfig": _pull_config(),
        "SecretsChange": _secrets_change(),
    }


def settings_schema(protocol: Protocol) -> Schema:
    """Return the schema of `protocolsettings`."""
    properties = {}
    for name, setting in protocol.settings.items():
        default = {} if setting.default is None else {"default": setting.default}
        properties[name] = dict(setting.check.schema) | default
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _with_shown_keys(protocol: Protocol) -> Schema:
    """Return the settings of an update, where an existing signing key may be given as it is shown."""
    schema = settings_schema(protocol)
    if "signing" in schema["properties"]:
        generated, keys = SIGNING["anyOf"]
        either = {"anyOf": [keys["items"], _ref("ShownKey")]}
        schema["properties"]["signing"] = {"anyOf": [generated, keys | {"items": either}]}
    return schema


def _variant(name: str, protocol: Protocol) -> Schema:
    required = ["sink"] * protocol.has_sink + ["protocol"] * (name != _DEFAULT)
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
            "filters": {
                "anyOf": [_ref("Filters"), _ref("Filter")],
                "description": "Filters that must all match.",
            },
            "filter": {"anyOf": [_ref("Filters"), _ref("Filter")], "description": "The same as `filters`."},
            **_sink(protocol),
            "protocol": {"const": name},
            "protocolsettings": _ref(f"Settings{name}"),
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


def _config_of(name: str, protocol: Protocol) -> Schema:
    if not protocol.has_sink:
        return _ref("PullConfig")
    return _ref("SubscriptionConfig") if name == _DEFAULT else _ref("UnbatchedConfig")


def _sink(protocol: Protocol) -> Schema:
    if not protocol.has_sink:
        return {"sink": {"type": "null", "description": "Pulled subscriptions have none."}}
    return {
        "sink": address_schema(protocol.address)
        | {"description": f"Where events go: {protocol.address.example}"},
        **dict.fromkeys(CREDENTIAL_NAMES, _ref("Credential")),
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
            "channel": _ref("ChannelName") | {"default": "default/default"},
            "start": _ref("Point") | {"description": "The first event to deliver; `latest` by default."},
            "delivery": _ref("Delivery"),
            "reply": _ref("Destination"),
        },
        "additionalProperties": {"description": "A key that the channel declares in `subscriptionconfig`."},
    }


def _unbatched_config() -> Schema:
    single = {"properties": {"batch": {"properties": {"size": {"maximum": 1}}}}}
    return {
        "description": "The same, for protocols without batches.",
        "allOf": [_ref("SubscriptionConfig"), {"properties": {"delivery": single}}],
    }


def _pull_config() -> Schema:
    """Return the part of the config that applies without a sink."""
    properties = {name: each for name, each in _config()["properties"].items() if name != "reply"}
    known = PROTOCOLS["PULL"].delivery or ()
    properties["delivery"] = {
        "type": "object",
        "properties": {name: dict(MEMBERS[name].schema) for name in known},
        "additionalProperties": False,
    }
    return _config() | {"properties": properties}


def _secrets_change() -> Schema:
    signing = {"anyOf": [SIGNING, {"enum": [ROTATE, None]}]}
    credential = {"anyOf": [{"allOf": [_ref("Credential"), UNMASKED]}, {"type": "null"}]}
    headers = dict(PROTOCOLS[_DEFAULT].settings["headers"].check.schema)
    headers["propertyNames"] = {"allOf": [headers["propertyNames"], {"pattern": any_case(SENSITIVE)}]}
    headers["additionalProperties"] = headers["additionalProperties"] | {"not": {"const": MASK}}
    return {
        "type": "object",
        "description": "Secrets that are left out stay; null removes them.",
        "minProperties": 1,
        "properties": {
            **dict.fromkeys(CREDENTIAL_NAMES, credential),
            "signing": signing,
            "headers": headers,
        },
        "additionalProperties": False,
    }


def _ref(name: str) -> Schema:
    return {"$ref": _SCHEMAS + name}
