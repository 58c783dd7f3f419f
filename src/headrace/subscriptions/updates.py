"""Updating a subscription: the whole object is given anew, and takes the old one's place under its id.

| property | |
|---|---|
| `id` | may be left out; another one is refused |
| `config.channel`, `config.start` | belong to its beginning: may be left out, and can't be others |
| secrets | a mask (`***`), or a signing key as it is shown, stands for what is there; what is left out goes |
| everything else | as at creation: what is left out has its default |

A mask stands for nothing where protocol, scheme, hosts or ports of the sink are others: then secrets are given anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import authority_of
from headrace.errors import InvalidSubscription
from headrace.protocols import check_credential_type, check_sink
from headrace.protocols.rules import CREDENTIAL_NAMES
from headrace.secrets.credential_document import is_shown_form, show_credential, type_of
from headrace.secrets.masks import MASK
from headrace.secrets.secrets import Secrets
from headrace.secrets.signing_keys import describe
from headrace.subscriptions.channels.config_keys import nothing_declared
from headrace.subscriptions.replacement import successor
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from headrace.documents.faults import Faults
    from headrace.secrets.credential import Credential
    from headrace.subscriptions.channels.config_keys import Declared
    from headrace.subscriptions.subscription import Subscription

_BEGINNING = {
    "channel": "create a subscription to the other channel, and delete this one",
    "start": "it has begun; a seek moves it",
}


def updated(
    old: Subscription,
    secrets: Secrets | None,
    document: object,
    declared: Declared = nothing_declared,
) -> Subscription:
    """Return what `old` becomes, to be sealed; InvalidSubscription lists every fault with its path.

    Old secrets that can't be opened are None: then masks stand for nothing. `declared` is as for a new one.
    """
    if not isinstance(document, dict):
        raise InvalidSubscription([("", "a subscription is a JSON object")])
    document = _with_beginning(old, document)
    there = secrets if secrets is not None and _goes_where_it_went(old, document) else Secrets()
    kept = _kept_credential(there, document)
    faults = _check_identity(old, document)
    try:
        new = parse_subscription(_unmasked(there, document, is_kept=kept is not None), declared)
    except InvalidSubscription as refused:
        raise InvalidSubscription([*faults, *refused.faults]) from None
    if kept is not None:
        faults += check_credential_type(new.protocol, new.protocolsettings, type_of(kept))
        new = replace(
            new, sink_credential=show_credential(kept), secrets=replace(new.secrets, credential=kept)
        )
    if faults:
        raise InvalidSubscription(faults)
    return successor(old, new)


def _with_beginning(old: Subscription, document: dict[str, Any]) -> dict[str, Any]:
    """Say what belongs to the beginning, where it is left out."""
    config = document.get("config", {})
    if not isinstance(config, dict):
        return document
    beginning = {name: value for name, value in old.document()["config"].items() if name in _BEGINNING}
    return document | {"config": beginning | config}


def _check_identity(old: Subscription, document: dict[str, Any]) -> Faults:
    faults: Faults = []
    if document.get("id", old.id) != old.id:
        faults.append(("id", f"can't change: this is subscription {old.id}; leave it out"))
    config, was = document.get("config"), old.document()["config"]
    for name, instead in _BEGINNING.items():
        if isinstance(config, dict) and config.get(name) != was.get(name):
            faults.append((f"config.{name}", f"can't change; {instead}"))
    return faults


def _goes_where_it_went(old: Subscription, document: dict[str, Any]) -> bool:
    """Tell whether secrets of the old one may go to the new sink. What is wrong with that is said elsewhere."""
    protocol, sink = document.get("protocol", "HTTP"), document.get("sink")
    if protocol != old.protocol or check_sink(protocol, sink):
        return False
    return (protocol, *authority_of(str(sink))) == old.recipient


def _kept_credential(there: Secrets, document: dict[str, Any]) -> Credential | None:
    given = next((document[name] for name in CREDENTIAL_NAMES if name in document), None)
    is_kept = there.credential is not None and is_shown_form(given, there.credential)
    return there.credential if is_kept else None


def _unmasked(there: Secrets, document: dict[str, Any], *, is_kept: bool) -> dict[str, Any]:
    """Return the document with secrets where something stands for them; without a credential that is kept."""
    whole = {name: value for name, value in document.items() if not (is_kept and name in CREDENTIAL_NAMES)}
    settings = whole.get("protocolsettings")
    if not isinstance(settings, dict):
        return whole
    settings = dict(settings)
    if isinstance(headers := settings.get("headers"), dict):
        kept = {
            name: there.headers[name]
            for name, value in headers.items()
            if value == MASK and name in there.headers
        }
        settings["headers"] = headers | kept
    if isinstance(signing := settings.get("signing"), list):
        shown = [describe(key) for key in there.signing]
        settings["signing"] = [
            there.signing[shown.index(each)] if each in shown else each for each in signing
        ]
    return whole | {"protocolsettings": settings}
