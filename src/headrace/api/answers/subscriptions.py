"""Subscriptions, how they fare, and what became of an import, as they are shown."""

from typing import Annotated, Literal, NotRequired, TypedDict

from headrace.api.answers.shared import (
    ChannelName,
    Natural,
    Object,
    Position,
    Positive,
    RefusedLines,
    Timestamp,
    closed,
)
from headrace.documents.schemas import Keywords, Named
from headrace.subscriptions.subscription import STATES

_State = Annotated[str, Keywords(enum=list(STATES))]
_Counted = Annotated[int, Keywords(minimum=0, maximum=10000)]
_IsMore = Annotated[Literal[True], "There are more than that; they are not counted."]
_Reason = Annotated[str, "Why it has ended."]


class _Config(TypedDict):
    channel: ChannelName


ShownCredential = Annotated[
    dict[str, str | None],
    Named(
        "ShownCredential",
        {
            "type": "object",
            "description": "What may be shown of a credential; `***` stands for a secret that is there.",
            "required": ["credentialType"],
            "properties": {"credentialType": str, "accessTokenExpiresUtc": str | None},
            "additionalProperties": str,
        },
    ),
]


@closed
class ShownKey(TypedDict):
    """A signing key as it is shown."""

    kind: Literal["hmac", "ed25519"]
    id: Annotated[str, "Tells it from others."]
    publicKey: NotRequired[Annotated[str, "Verifies what an Ed25519 key has signed."]]


class _Ready(TypedDict):
    """Whether it gets events, and if not, why not."""

    status: bool
    reason: NotRequired[
        Literal["NotSettled", "Paused", "SinkGone", "FilterUnusable", "CredentialUnusable", "SinkFailing"]
    ]
    message: NotRequired[str]


class _Lag(TypedDict):
    positions: Annotated[
        Natural | None,
        "Events of the log behind that position, whoever wants them; null while the log doesn't tell.",
    ]
    waiting: Annotated[Natural, "Deliveries of its own that are tried again later."]


class _NamedEvent(TypedDict):
    id: str
    source: str
    type: str


class _FilterStatus(TypedDict):
    """How often its filter cost more than it may, and on which event last."""

    event: NotRequired[_NamedEvent]
    overruns: Positive
    reason: str
    position: Position
    time: Timestamp


class _CredentialStatus(TypedDict):
    problem: str
    time: str | None


class _PullStatus(TypedDict):
    """What waits to be pulled, how much of it consumers hold, and what nobody pulled in time."""

    waiting: Natural
    held: Natural
    expired: Natural
    oldest: NotRequired[Timestamp]
    lastExpired: NotRequired[Timestamp]


class _Breaker(TypedDict):
    state: Literal["closed", "open", "half-open"]
    until: NotRequired[Timestamp]


class _LastError(TypedDict):
    time: Timestamp
    reason: str
    status: NotRequired[int]


class DeliveryStatus(TypedDict):
    """How its deliveries fare."""

    state: _State
    reason: NotRequired[_Reason]
    waiting: _Counted
    waitingIsMore: NotRequired[_IsMore]
    dead: _Counted
    deadIsMore: NotRequired[_IsMore]
    pull: NotRequired[_PullStatus]
    breaker: NotRequired[_Breaker]
    lastSuccess: NotRequired[Timestamp]
    lastError: NotRequired[_LastError]


class SubscriptionStatus(TypedDict):
    """How it fares."""

    ready: _Ready
    position: Annotated[
        Position | dict[str, int] | None,
        "Every event before it is delivered or given up; null until its beginning is settled. In a log of several "
        "partitions, how far along each of them it is.",
    ]
    lag: _Lag
    notes: Annotated[list[str], "What its author should know about the way its filters are written."]
    filter: NotRequired[_FilterStatus]
    credential: NotRequired[_CredentialStatus]
    delivery: DeliveryStatus


class _Kept(TypedDict):
    id: Annotated[str, Keywords(examples=["f1d15fd0-6893-11eb-9439-0242ac130002"])]
    source: NotRequired[str]
    types: NotRequired[list[str]]
    config: _Config
    filters: list[Annotated[Object, Keywords(minProperties=1, maxProperties=1)]]
    sink: NotRequired[Annotated[str, "Absent where events are pulled."]]
    sinkCredential: NotRequired[ShownCredential]
    protocol: str
    protocolsettings: Annotated[Object, "Secrets are masked; a signing key that was made is shown once."]


class Subscription(_Kept):
    """A subscription as it is shown, with defaults applied and without its secrets."""

    status: NotRequired[SubscriptionStatus]


@closed
class _ExportedDelivery(TypedDict):
    state: Literal["paused", "ended"]
    reason: NotRequired[_Reason]
    paused: NotRequired[Annotated[Literal[True], "It was paused before."]]


@closed
class _ExportedStatus(TypedDict):
    delivery: _ExportedDelivery


class ExportedSubscription(_Kept):
    """A subscription as it is exported. Of its status there is `delivery`, and only where it is paused or has ended."""

    status: NotRequired[_ExportedStatus]


class ImportOutcome(TypedDict):
    """What became of the lines of an import."""

    accepted: Annotated[Natural, "Lines that can be used."]
    created: Annotated[Natural, "Subscriptions that were created; none by a dry run."]
    existing: Annotated[Natural, "Ids that were there already and stayed as they were."]
    renamed: Annotated[
        Natural,
        "Those of the created whose id could not be kept, as the caller does not see all namespaces.",
    ]
    refused: Annotated[Natural, "Lines that can't be used."]
    lines: RefusedLines


class _Operation(TypedDict):
    method: str
    path: str


class Capabilities(TypedDict):
    """What the Subscriptions API supports."""

    operations: Annotated[
        dict[str, _Operation], "The operations of the CloudEvents Subscriptions API, by their names."
    ]
    queryparameters: Annotated[list[str], "By what subscriptions are listed."]
    protocols: list[str]
    dialects: Annotated[list[str], "Of filters."]
    config: Annotated[list[str], "Keys of `config` that every channel has."]
