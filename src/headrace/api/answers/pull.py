"""Events that are pulled, as they are handed out."""

from typing import Annotated, NotRequired, TypedDict

from headrace.api.answers.events import CloudEvent
from headrace.api.answers.shared import Natural, Position, Positive
from headrace.api.pull.cursors import CONSUMER, PULL_CURSOR
from headrace.documents.schemas import Keywords

PullCursor = Annotated[str, PULL_CURSOR]


class PulledEvent(TypedDict):
    """An event that was handed out."""

    cursor: PullCursor
    position: Position
    replay: NotRequired[Annotated[str, "The job that asked for it."]]
    handed: Annotated[Positive, "How often it was handed out."]
    event: CloudEvent


class PulledEvents(TypedDict):
    """Events that were handed out to a consumer."""

    cursor: PullCursor
    consumer: Annotated[str, Keywords(**CONSUMER)]
    events: list[PulledEvent]


class Acknowledged(TypedDict):
    """How many events were acknowledged, and given back."""

    acknowledged: Natural
    released: NotRequired[Natural]
