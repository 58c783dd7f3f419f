"""Rules between the properties of a subscription, in the words of JSON Schema: those that checks of protocols have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Rule = dict[str, Any]

CREDENTIAL_NAMES = ("sinkCredential", "sinkcredential")
"""As the specification writes it, and as its newer drafts do."""

HAS_CREDENTIAL: Rule = {"anyOf": [{"required": [name]} for name in CREDENTIAL_NAMES]}
"""There is a credential."""


def credential_rule(members: Mapping[str, Any]) -> Rule:
    """Ask this of members of the credential, where there is one, in both spellings."""
    spelled = {spelling: asked for name, asked in members.items() for spelling in (name, name.lower())}
    return {"properties": {name: {"properties": spelled} for name in CREDENTIAL_NAMES}}


def settings_rule(asked: Rule) -> Rule:
    """Ask this of the settings, where there are any."""
    return {"properties": {"protocolsettings": asked}}


def has_setting(name: str, value: Rule | None = None) -> Rule:
    """There is such a setting, with a value of this kind."""
    kind = {} if value is None else {"properties": {name: value}}
    return {"required": ["protocolsettings"], **settings_rule({"required": [name], **kind})}
