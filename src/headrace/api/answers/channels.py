"""Channels, what their subscriptions want, and what routing set aside, as they are shown."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from headrace.api.answers.shared import Label, Natural, Object, Position, Timestamp
from headrace.documents.schemas import Keywords
from headrace.subscriptions.channels.config_keys import DECLARATIONS


class Channel(TypedDict):
    """A channel as it is shown."""

    namespace: Label
    name: Label
    url: Annotated[str, "Where producers post to.", Keywords(format="uri")]
    delivery: NotRequired[Object]
    subscriptionconfig: NotRequired[Annotated[dict[str, Any], DECLARATIONS]]


class SetAside(TypedDict):
    """What routing went on without, and why."""

    kind: Literal["event", "filter", "damage"]
    position: NotRequired[Position]
    until: NotRequired[Position]
    reason: str
    namespace: NotRequired[str]
    channel: NotRequired[str]
    subscription: NotRequired[str]
    time: Timestamp


class Interest(TypedDict):
    """What the subscriptions of a channel want."""

    channel: str
    revision: Natural
    subscriptions: Annotated[Natural, "Whose filters are in it."]
    cel: Annotated[str, "True on every event that a subscription would match."]
    exact: Annotated[bool, "Whether it is true on these alone; otherwise it was widened."]
    variables: Annotated[list[str], "What an evaluator has to bind."]
    maxAge: Annotated[float, "For how many seconds it may be used, from when it was asked for."]
    bloom: Annotated[str, "Where the Bloom filter is.", Keywords(format="uri-reference")]
