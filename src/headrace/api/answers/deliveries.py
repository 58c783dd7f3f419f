"""Attempts, dead letters, redrives and test sends, as they are shown."""

from typing import Annotated, Literal, NotRequired, TypedDict

from headrace.api.answers.events import CloudEvent
from headrace.api.answers.shared import (
    Base64,
    Headers,
    Natural,
    NextCursor,
    Object,
    Position,
    Positive,
    Seconds,
    Timestamp,
)
from headrace.database.work_queue import State
from headrace.documents.schemas import Keywords
from headrace.ledger.records.attempts import VERDICTS
from headrace.ledger.stages import STAGES

Stage = Annotated[str, Keywords(enum=list(STAGES))]
Verdict = Annotated[str, Keywords(enum=list(VERDICTS))]


class Attempt(TypedDict):
    """An attempt to deliver an event."""

    id: Natural
    subscription: str
    position: Position
    replay: NotRequired[Annotated[str, "The job that asked for it."]]
    stage: Stage
    attempt: Positive
    time: Timestamp
    seconds: Seconds
    verdict: Verdict
    status: NotRequired[int]
    reason: NotRequired[str]


class WholeAttempt(Attempt):
    """An attempt with what the sink answered."""

    headers: Headers
    body: NotRequired[str]
    bodyBase64: NotRequired[Base64]


class AttemptPage(TypedDict):
    """A page of attempts."""

    attempts: list[Attempt]
    next: NotRequired[NextCursor]


class DeadLetter(TypedDict):
    """A delivery that was given up."""

    subscription: str
    stage: Stage
    replay: NotRequired[str]
    position: Position
    attempts: Natural
    time: Timestamp
    reason: str
    event: NotRequired[CloudEvent]


class DeadLetterPage(TypedDict):
    """A page of dead letters."""

    deadLetters: list[DeadLetter]
    next: NotRequired[NextCursor]


class Redrive(TypedDict):
    """Deliveries that are made again, and how far that is."""

    id: str
    request: Object
    state: Annotated[str, Keywords(enum=[each for each in State if each is not State.WAITING])]
    found: Natural
    moved: Natural
    asked: Timestamp
    ended: NotRequired[Timestamp]
    error: NotRequired[str]


class DryRedrive(TypedDict):
    """What a redrive would find."""

    request: Object
    found: Natural
    dryRun: Literal[True]


class TestOutcome(TypedDict):
    """What came of a test-send, as in the log of attempts."""

    sink: str
    verdict: Verdict
    status: NotRequired[int]
    seconds: Seconds
    reason: NotRequired[str]
    headers: Headers
    body: NotRequired[str]
    bodyBase64: NotRequired[Base64]
