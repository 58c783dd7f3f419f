"""Jobs, as they are shown."""

from typing import Annotated, NotRequired, TypedDict

from headrace.api.answers.shared import Object, Timestamp, closed
from headrace.database.work_queue import State
from headrace.documents.schemas import Keywords
from headrace.jobs.requests import KINDS


@closed
class Job(TypedDict):
    """Something long that was asked for, how far it is, and what came of it."""

    id: str
    kind: Annotated[str, Keywords(enum=list(KINDS))]
    subscription: NotRequired[str]
    request: Object
    state: Annotated[str, Keywords(enum=list(State))]
    progress: Annotated[float, Keywords(minimum=0, maximum=1)]
    note: NotRequired[str]
    result: NotRequired[Object]
    error: NotRequired[str]
    asked: Timestamp
    ended: NotRequired[Timestamp]
