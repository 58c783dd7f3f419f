"""What a subscription must not show: its credential, its signing keys, and headers that carry such things.

They are taken out of a proposal when it is read; what is left can be stored, listed and logged as it is. Subscriptions
that come from the store have none: whoever needs them asks the secret store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.secrets.credential_document import read_credential, write_credential
from headrace.secrets.masks import MASK, is_sensitive
from headrace.secrets.signing_keys import describe, keys_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.secrets.credential import Credential


@dataclass(frozen=True, slots=True)
class Secrets:
    """Nothing of it is in a representation."""

    credential: Credential | None = field(default=None, repr=False)
    signing: tuple[str, ...] = field(default=(), repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.credential or self.signing or self.headers)

    def to_json(self) -> bytes:
        """Write them whole: what is sealed."""
        credential = None if self.credential is None else write_credential(self.credential)
        return msgspec.json.encode(
            {"sinkCredential": credential, "signing": self.signing, "headers": self.headers}
        )

    @classmethod
    def from_json(cls, content: bytes) -> Secrets:
        """Read what `to_json` wrote."""
        document = msgspec.json.decode(content)
        credential = document["sinkCredential"]
        return cls(
            None if credential is None else read_credential(credential),
            tuple(document["signing"]),
            document["headers"],
        )


def take_out(settings: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...], dict[str, str]]:
    """Return settings as they may be shown, the signing keys, and the headers that were masked."""
    shown = dict(settings)
    signing = keys_of(settings["signing"]) if "signing" in settings else ()
    headers = {name: value for name, value in settings.get("headers", {}).items() if is_sensitive(name)}
    if headers:
        shown["headers"] = {**settings["headers"], **dict.fromkeys(headers, MASK)}
    if signing:
        shown["signing"] = [describe(key) for key in signing]
    return shown, signing, headers


def put_back(settings: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Return settings as a sender needs them. Signing keys are handed over beside them."""
    whole = {name: value for name, value in settings.items() if name != "signing"}
    if secrets.headers:
        whole["headers"] = {**settings.get("headers", {}), **secrets.headers}
    return whole


def is_masked(settings: Mapping[str, Any]) -> bool:
    """Tell whether something was taken out of settings."""
    return "signing" in settings or MASK in settings.get("headers", {}).values()


def makes_keys(settings: Mapping[str, Any]) -> bool:
    """Tell whether settings, which were found good, leave it to us to make a signing key: the first one, then."""
    return isinstance(settings.get("signing"), str)


def with_made_keys(document: dict[str, Any], secrets: Secrets, *, made: bool) -> dict[str, Any]:
    """Show a key that was made for somebody, once: nobody else can tell it."""
    if made:
        document["protocolsettings"]["signing"][0]["secret"] = secrets.signing[0]
    return document
