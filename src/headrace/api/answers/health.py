"""Health and readiness, as they are shown."""

from typing import Annotated, Literal, NotRequired, TypedDict

from headrace.documents.schemas import Keywords

_Time = Annotated[str, Keywords(format="date-time")]


class Health(TypedDict):
    """A process that answers."""

    status: Literal["ok"]


class _Part(TypedDict):
    state: Literal["working", "idle", "degraded", "blocked"]
    since: _Time
    note: str
    problem: NotRequired[str]


class _Role(TypedDict):
    state: str
    since: _Time
    did: Annotated[str, "What it did last."]
    problem: NotRequired[Annotated[str, "Why it isn't ready; absent where it is."]]
    parts: dict[str, _Part]


class Readiness(TypedDict):
    """Whether the roles of a machine are ready."""

    ready: bool
    roles: Annotated[
        dict[str, Literal["ready", "starting", "restarting", "blocked", "silent"]],
        "Each role in a word: `ready`; `starting`; `restarting` (it ended, and why stands in the details); `blocked` "
        "(a part of it can't work, or has fallen silent); `silent` (its process is there and stuck).",
    ]
    details: NotRequired[
        Annotated[
            dict[str, _Role],
            "Why it is so, by role, as sentences that say what to do. Where authentication is on, those see it who "
            "have the role subscribe in every namespace.",
        ]
    ]
