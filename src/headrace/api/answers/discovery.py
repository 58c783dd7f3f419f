"""What the service supports, and its channels as endpoints, as they are shown."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from headrace.api.answers.shared import ChannelName, Object
from headrace.documents.schemas import Keywords, Named


class _Dialect(TypedDict):
    aliases: list[str]


class _Protocol(TypedDict):
    sink: Annotated[str, "What an address looks like."]
    schemes: list[str]
    settings: Annotated[dict[str, Object], "By name, as JSON Schema with the default."]
    credentialtypes: list[str]


class _ConfigKey(TypedDict):
    type: str | list[str]
    required: bool
    enum: NotRequired[list[Any]]
    description: NotRequired[str]


ConfigKeys = Annotated[
    dict[str, _ConfigKey],
    Named(
        "SubscriptionConfigTypes",
        {
            "type": "object",
            "description": "The keys that a subscription's `config` may have.",
            "additionalProperties": _ConfigKey,
        },
    ),
]


class Discovery(TypedDict):
    """What the service supports."""

    service: Annotated[dict[str, str], Keywords(required=["name", "version"])]
    operations: dict[str, Annotated[Object, Keywords(required=["method", "path"])]]
    queryparameters: list[str]
    dialects: dict[str, _Dialect]
    protocols: dict[str, _Protocol]
    credentials: Annotated[dict[str, list[str]], "The members of a credential, by its type."]
    delivery: Annotated[dict[str, Object], "The members of a delivery object, as JSON Schema."]
    subscriptionconfig: ConfigKeys
    contentmodes: dict[str, str]
    limits: Annotated[dict[str, dict[str, int]], Keywords(required=["filters", "api"])]


class _Address(TypedDict):
    uri: Annotated[str, Keywords(format="uri")]


class _ProtocolOptions(TypedDict):
    method: Literal["POST"]
    endpoints: list[_Address]


class Endpoint(TypedDict):
    """An endpoint of a channel, as xRegistry has it."""

    endpointid: str
    self: Annotated[str, Keywords(format="uri")]
    xid: str
    usage: list[Literal["producer", "subscriber"]]
    channel: ChannelName
    envelope: Literal["CloudEvents/1.0"]
    protocol: Literal["HTTP"]
    protocoloptions: _ProtocolOptions
    subscriptionconfig: NotRequired[ConfigKeys]
    deliveryprotocols: NotRequired[list[str]]
    dialects: NotRequired[list[str]]
