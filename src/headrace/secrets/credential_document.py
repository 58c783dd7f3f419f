"""`sinkCredential` of the Subscriptions API: read it, write it whole for the secret store, show it without secrets.

Newer drafts write the same names in lower case; both are read. No fault repeats what was given.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import WEB_ADDRESS, BadAddress, read_address
from headrace.filters.values.faults import Fault
from headrace.filters.values.times import read_timestamp
from headrace.secrets.credential import CredentialType, Plain, Refreshable, Token
from headrace.secrets.masks import MASK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults
    from headrace.secrets.credential import Credential

_PATH = "sinkCredential"
TYPE = "credentialType"
EXPIRES = "accessTokenExpiresUtc"
ENDPOINT = "refreshTokenEndpoint"
_TOKEN = ("accessToken", EXPIRES, "accessTokenType")
MEMBERS = {
    CredentialType.PLAIN: ("identifier", "secret"),
    CredentialType.ACCESSTOKEN: _TOKEN,
    CredentialType.REFRESHTOKEN: (*_TOKEN, "refreshToken", ENDPOINT),
}
_SHOWN = (TYPE, EXPIRES, "accessTokenType", ENDPOINT)
_SPELLINGS: dict[str, str] = {
    name.lower(): name for name in (TYPE, *(each for names in MEMBERS.values() for each in names))
}
# A line break would let a credential say more than it is.
FORMS = {
    "identifier": (re.compile(r"[^\x00-\x1f\x7f]+"), "a text without control characters"),
    "secret": (re.compile(r"[^\x00-\x1f\x7f]+"), "a text without control characters"),
    "accessToken": (re.compile(r"[\x21-\x7e]+"), "a token: visible characters of ASCII"),
    "accessTokenType": (re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), "a type of token, such as Bearer"),
    "refreshToken": (re.compile(r"[\x20-\x7e]+"), "a token: visible characters of ASCII"),
}
LONGEST = 16_384


def parse_credential(value: object, faults: Faults) -> Credential | None:
    """Read a proposed credential; what is wrong is added to the faults, and then there is none."""
    before = len(faults)
    members = _members(value, faults)
    if len(faults) > before:
        return None
    credential = read_credential(members)
    if isinstance(credential, Token) and credential.expires <= time.time():
        faults.append((f"{_PATH}.{EXPIRES}", "is in the past: nothing could be delivered with this token"))
    return credential


def read_credential(members: Mapping[str, str]) -> Credential:
    """Read members that were found good once."""
    if members[TYPE] == CredentialType.PLAIN:
        return Plain(members["identifier"], members["secret"])
    token = Token(members["accessTokenType"], members["accessToken"], _seconds(members[EXPIRES]))
    if members[TYPE] == CredentialType.ACCESSTOKEN:
        return token
    return Refreshable(token, members["refreshToken"], members[ENDPOINT])


def write_credential(credential: Credential) -> dict[str, str]:
    """Return all members, secrets too: for the secret store only."""
    match credential:
        case Plain(identifier, secret):
            return {TYPE: CredentialType.PLAIN, "identifier": identifier, "secret": secret}
        case Token():
            return {TYPE: CredentialType.ACCESSTOKEN, **_token(credential)}
        case Refreshable(token, refresh_token, endpoint):
            more = {"refreshToken": refresh_token, ENDPOINT: endpoint}
            return {TYPE: CredentialType.REFRESHTOKEN, **_token(token), **more}


def is_same(one: Credential | None, other: Credential | None) -> bool:
    """Tell whether two are one: of the same kind, with the same secrets. The expiry loses digits when it is written."""
    first, second = (
        None if each is None else write_credential(each) | {EXPIRES: ""} for each in (one, other)
    )
    return first == second


def show_credential(credential: Credential) -> dict[str, str]:
    """Return the members as they may be shown: a mask tells that a secret is there. Identifiers count as secrets."""
    return {
        name: str(value) if name in _SHOWN else MASK for name, value in write_credential(credential).items()
    }


def is_shown_form(value: object, credential: Credential) -> bool:
    """Tell whether this is what is shown of the credential; a token may have been refreshed since."""
    if not isinstance(value, dict):
        return False
    told = {_spelled(name): each for name, each in value.items()} | {EXPIRES: ""}
    return told == show_credential(credential) | {EXPIRES: ""}


def type_of(credential: Credential) -> CredentialType:
    """Return the type by which the API knows it."""
    return CredentialType(write_credential(credential)[TYPE])


def expiry_of(credential: Credential | None) -> str | None:
    """Return when the access token expires, where there is one."""
    token = credential.token if isinstance(credential, Refreshable) else credential
    return write_time(token.expires) if isinstance(token, Token) else None


def write_time(seconds: float) -> str:
    """Return a time as RFC 3339 in UTC, to the millisecond, rounded down so that no token lives longer by it."""
    moment = datetime.fromtimestamp(int(seconds * 1000) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _token(token: Token) -> dict[str, str]:
    return {
        "accessToken": token.value,
        EXPIRES: write_time(token.expires),
        "accessTokenType": token.type,
    }


def _members(value: object, faults: Faults) -> dict[str, Any]:
    if not isinstance(value, dict):
        faults.append((_PATH, "has to be an object"))
        return {}
    members = {_spelled(name): each for name, each in value.items()}
    if len(members) < len(value):
        faults.append((_PATH, "has a member twice, in two spellings"))
    type_ = members.get(TYPE)
    if not isinstance(type_, str) or type_ not in list(CredentialType):
        known = ", ".join(CredentialType)
        faults.append((f"{_PATH}.{TYPE}", f"is required, and has to be one of {known}"))
        return {}
    wanted = MEMBERS[CredentialType(type_)]
    faults += [
        (f"{_PATH}.{name}", f"unknown member; {type_} has: {', '.join(wanted)}")
        for name in members
        if name not in (*wanted, TYPE)
    ]
    for name in wanted:
        if name not in members:
            faults.append((f"{_PATH}.{name}", f"is required for {type_}"))
        else:
            faults += _check_member(name, members[name])
    return members


def _spelled(name: object) -> str:
    return _SPELLINGS.get(str(name).lower(), str(name))


def _check_member(name: str, value: object) -> Faults:
    path = f"{_PATH}.{name}"
    if name == EXPIRES:
        is_time = isinstance(value, str) and _is_time(value)
        return [] if is_time else [(path, "has to be a time such as 2026-01-31T12:00:00Z")]
    if name == ENDPOINT:
        is_address = isinstance(value, str) and _is_web_address(value)
        return [] if is_address else [(path, "has to be an http or https address without user info")]
    form, wanted = FORMS[name]
    if not isinstance(value, str) or not form.fullmatch(value):
        return [(path, f"has to be {wanted}")]
    if value == MASK:
        return [(path, "is the mask that stands for a secret when it is shown; give the secret itself")]
    if len(value.encode(errors="replace")) > LONGEST:
        return [(path, f"is longer than the limit of {LONGEST} bytes")]
    return []


def _is_web_address(text: str) -> bool:
    try:
        read_address("HTTP", WEB_ADDRESS, text)
    except BadAddress:
        return False
    return True


def _is_time(text: str) -> bool:
    try:
        read_timestamp(text)
    except Fault:
        return False
    return True


def _seconds(text: str) -> float:
    return read_timestamp(text).nanoseconds / 1e9
