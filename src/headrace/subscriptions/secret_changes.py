"""Giving a subscription other secrets while it goes on: a new credential or token, new keys, other values of headers.

| member | what happens |
|---|---|
| `sinkCredential` | takes the old one's place; null leaves the subscription without one |
| `signing` | takes the place of all keys, as at creation; `"rotate"` makes a key of the newest one's kind and keeps that one behind it; null leaves none |
| `headers` | values of headers that are shown masked, by name |

What isn't named stays. The whole is checked as if it were proposed anew.
"""  # noqa: E501

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidSubscription
from headrace.protocols.rules import CREDENTIAL_NAMES
from headrace.secrets.credential_document import write_credential
from headrace.secrets.masks import MASK, is_sensitive
from headrace.secrets.secrets import Secrets, put_back
from headrace.secrets.signing_keys import ED25519, GENERATE, GENERATE_ED25519, keys_of
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from headrace.documents.faults import Faults
    from headrace.subscriptions.subscription import Subscription

ROTATE = "rotate"
_MEMBERS = ("sinkCredential", "signing", "headers")


def changed(subscription: Subscription, secrets: Secrets | None, change: object) -> Subscription:
    """Return the subscription with other secrets, to be sealed; InvalidSubscription says what is wrong.

    Old secrets that can't be opened are None: then all that there are have to be given.
    """
    if not isinstance(change, dict) or not change:
        raise InvalidSubscription([("", f"has to be an object with one or more of: {', '.join(_MEMBERS)}")])
    faults = [
        (str(name), f"unknown member; there are: {', '.join(_MEMBERS)}")
        for name in change
        if name not in (*_MEMBERS, *CREDENTIAL_NAMES)
    ]
    if secrets is None:
        secrets = Secrets()
        faults += _lost(subscription, change)
    if faults:
        raise InvalidSubscription(faults)
    document = subscription.document() | {
        "config": {},  # what its channel declares was looked at when it was given
        "protocolsettings": _settings(subscription, secrets, change),
        "sinkCredential": _credential(secrets, change),
    }
    if document["sinkCredential"] is None:
        del document["sinkCredential"]
    proposed = parse_subscription(document)
    return replace(
        subscription,
        protocolsettings=proposed.protocolsettings,
        sink_credential=proposed.sink_credential,
        secrets=proposed.secrets,
    )


def _lost(subscription: Subscription, change: dict[str, Any]) -> Faults:
    given = {"sinkCredential" if name in CREDENTIAL_NAMES else name for name in change}
    there = {
        "sinkCredential": subscription.sink_credential is not None,
        "signing": "signing" in subscription.protocolsettings,
        "headers": MASK in subscription.protocolsettings.get("headers", {}).values(),
    }
    return [
        (name, "the old one can't be opened any more, so it has to be given as well")
        for name, is_there in there.items()
        if is_there and name not in given
    ]


def _credential(secrets: Secrets, change: dict[str, Any]) -> Any:
    for name in CREDENTIAL_NAMES:
        if name in change:
            return change[name]
    return None if secrets.credential is None else write_credential(secrets.credential)


def _settings(subscription: Subscription, secrets: Secrets, change: dict[str, Any]) -> dict[str, Any]:
    settings = put_back(subscription.protocolsettings, secrets)
    signing = change.get("signing", list(secrets.signing) or None)
    if signing == ROTATE:
        signing = _rotated(secrets.signing)
    if signing is not None:
        settings["signing"] = signing
    if "headers" in change:
        settings["headers"] = settings.get("headers", {}) | _headers(change["headers"])
    return settings


def _headers(headers: object) -> dict[str, Any]:
    if not isinstance(headers, dict) or not all(is_sensitive(name) for name in headers):
        raise InvalidSubscription(
            [("headers", "has to be a map of headers that are shown masked: their names tell of a secret")]
        )
    return headers


def _rotated(keys: tuple[str, ...]) -> list[str]:
    if not keys:
        return list(keys_of(GENERATE))
    newest = keys[0]
    return [*keys_of(GENERATE_ED25519 if newest.startswith(ED25519) else GENERATE), newest]
