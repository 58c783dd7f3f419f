"""What a filter means, and why it matches an event, as they are shown."""

from typing import Annotated, NotRequired, TypedDict

from headrace.api.answers.shared import Natural, Positive


class _Cost(TypedDict):
    used: Natural
    limit: Positive


class CompiledFilter(TypedDict):
    """What a filter means, and what it costs."""

    cel: Annotated[str, "The text that defines what the filter means."]
    notes: Annotated[list[str], "What its author should know."]
    cost: Annotated[dict[str, _Cost], "How much of each limit it uses, of those that count something in it."]


class Explanation(TypedDict):
    """A clause and its value on the event."""

    clause: str
    value: Annotated[bool | None, "Null is unknown."]
    reason: NotRequired[str]
    parts: NotRequired["list[Explanation]"]


class Explained(TypedDict):
    """Whether a filter matches, and why."""

    matches: bool
    explanation: Explanation
    text: Annotated[str, "The same drawn as a tree."]
    notes: list[str]
