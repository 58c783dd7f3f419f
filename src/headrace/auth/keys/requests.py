"""Requests for new keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.auth.grants import GRANTS, parse_grants
from headrace.auth.keys.key import KeyText, new_key
from headrace.auth.keys.record import KeyRecord
from headrace.documents.forms import Form, Member, refuse
from headrace.documents.kinds import kind_of
from headrace.subscriptions.request_kinds import A_TIME

if TYPE_CHECKING:
    from headrace.auth.roles import Grants
    from headrace.documents.faults import Faults

_LONGEST_NAME = 100


def _name(value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= _LONGEST_NAME:
        faults.append(
            (path, f"has to be a text of 1 to {_LONGEST_NAME} characters that says whose key it is")
        )
    return value


_NAME = {"type": "string", "pattern": f"^[ -~]{{1,{_LONGEST_NAME}}}$", "examples": ["ci"]}
KEY_FORM = Form(
    "KeyRequest",
    {
        "name": Member(kind_of(_NAME, _name), "Whose key it is.", is_required=True),
        "grants": Member(kind_of(GRANTS, parse_grants), is_required=True),
        "expires": Member(A_TIME, takes_null=True),
    },
)


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """`expires` in seconds since the epoch; None for never."""

    name: str
    grants: Grants
    expires: float | None = None

    def make(self, who: str, now: float) -> tuple[KeyText, KeyRecord]:
        """Make the key and its record."""
        key = new_key()
        return key, KeyRecord(key.id, self.name, key.digest, self.grants, now, who, self.expires)


def parse_key_request(document: object) -> KeyRequest:
    """Parse a request for a key; InvalidRequest lists every fault with its path."""
    given, faults = KEY_FORM.read(document)
    refuse(faults)
    expires = given["expires"]
    return KeyRequest(given["name"], given["grants"], None if expires is None else expires / 1000)
