"""Keys, quotas and the audit log, as they are shown."""

from typing import Annotated, Any, NotRequired, TypedDict

from headrace.api.answers.shared import NextCursor, Object, Timestamp
from headrace.auth.grants import GRANTS
from headrace.auth.quota_requests import QUOTAS
from headrace.documents.schemas import Keywords

Grants = Annotated[dict[str, list[str]], GRANTS]
Quotas = Annotated[dict[str, Any], QUOTAS]


class Principal(TypedDict):
    """Whoever asks."""

    id: Annotated[str, "What the record of changes calls them.", Keywords(examples=["key:4Xb0Qp7sKd"])]
    grants: dict[str, list[str]]


class Key(TypedDict):
    """An API key, without its secret."""

    id: str
    name: str
    grants: Grants
    created: Timestamp
    createdBy: str
    expires: NotRequired[Timestamp]
    revoked: NotRequired[Timestamp]
    lastUsed: NotRequired[Timestamp]


class NewKey(Key):
    """An API key that was just made."""

    key: Annotated[
        str, "The key itself; it is not kept.", Keywords(pattern="^hr_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$")
    ]


class QuotaList(TypedDict):
    """The quotas of all namespaces that have their own."""

    defaults: Quotas
    namespaces: dict[str, Quotas]


class NamespaceQuotas(TypedDict):
    """The quotas of a namespace."""

    namespace: str
    quotas: Annotated[Quotas, "What holds."]
    own: Annotated[Quotas, "What is set for this namespace."]
    used: Annotated[dict[str, int], "How many subscriptions and channels it has."]


class Change(TypedDict):
    """An entry of the record of changes."""

    number: int
    time: Timestamp
    who: str
    address: Annotated[str, "Where it came from."]
    action: Annotated[str, Keywords(examples=["POST /subscriptions"])]
    kind: str
    object: NotRequired[Annotated[str, "The id or the name of what was changed."]]
    namespace: NotRequired[Annotated[str, "Without one it is about all of them."]]
    outcome: NotRequired[
        Annotated[int, "The status that was answered; absent while it is not known, or was never told."]
    ]
    change: NotRequired[
        Annotated[
            Object, "Digests of the object before and after, and the names of the members that changed."
        ]
    ]


class ChangePage(TypedDict):
    """A page of the record of changes."""

    changes: list[Change]
    next: NotRequired[NextCursor]
