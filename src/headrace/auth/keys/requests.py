"""Requests for new keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.auth.grants import GRANTS, parse_grants
from headrace.auth.keys.key import KeyText, new_key
from headrace.auth.keys.record import KeyRecord
from headrace.documents.schemas import Named, nullable, record
from headrace.errors import InvalidRequest
from headrace.subscriptions.points import TIME, parse_time

if TYPE_CHECKING:
    from headrace.auth.roles import Grants
    from headrace.documents.faults import Faults

_LONGEST_NAME = 100
_MEMBERS = {
    "name": {
        "type": "string",
        "description": "Whose key it is.",
        "pattern": f"^[ -~]{{1,{_LONGEST_NAME}}}$",
        "examples": ["ci"],
    },
    "grants": GRANTS,
    "expires": nullable(TIME),
}
KEY_REQUEST = Named("KeyRequest", record(_MEMBERS, ["name", "grants"]))


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
    if not isinstance(document, dict):
        raise InvalidRequest([("", f"the body has to be a JSON object with: {', '.join(_MEMBERS)}")])
    faults: Faults = [
        (str(name), f"unknown member; this request has: {', '.join(_MEMBERS)}")
        for name in document
        if name not in _MEMBERS
    ]
    name = document.get("name")
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        faults.append(
            ("name", f"has to be a text of 1 to {_LONGEST_NAME} characters that says whose key it is")
        )
    grants = parse_grants(document.get("grants"), "grants", faults)
    expires = parse_time(document.get("expires"), "expires", faults)
    if faults:
        raise InvalidRequest(faults)
    return KeyRequest(str(name), grants, None if expires is None else expires / 1000)
