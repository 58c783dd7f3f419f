"""Kafka: the topic is in the settings or in the address, `kafka://one:9092,two:9092/topic`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import AddressForm
from headrace.documents.forms import Member
from headrace.documents.kinds import Kind, one_of, shown, text
from headrace.documents.whole_numbers import whole_number
from headrace.protocols.protocol import Protocol
from headrace.protocols.rules import credential_rule, has_setting
from headrace.secrets.credential import CredentialType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.addresses import Address
    from headrace.documents.faults import Faults
    from headrace.documents.kinds import Problems

_ACKS = {"all": "all", "-1": "all", "1": "1", "0": "0"}
_OAUTHBEARER = "OAUTHBEARER"
_topic = text(
    249, r"(?!\.{1,2}$)[a-zA-Z0-9._-]+", "a name of a topic (letters, digits, dot, dash and underscore)"
)


def _normal_acks(value: Any) -> str | None:
    return _ACKS.get(value if isinstance(value, str) else str(whole_number(value)))


def _check_acks(value: Any) -> Problems:
    if _normal_acks(value) is None:
        yield "", f'{shown(value)} is not one of "all", "1", "0"'


def _check_address(address: Address, settings: Mapping[str, Any]) -> Faults:
    if "topicname" not in settings:
        if not address.path:
            return [("protocolsettings.topicname", "is required, unless the sink ends with /topic")]
        return [("sink", problem) for _, problem in _topic(address.path)]
    if address.path not in ("", settings["topicname"]):
        return [("sink", f"names the topic {shown(address.path)}, and protocolsettings.topicname another")]
    return []


def _check_credential(settings: Mapping[str, Any], type_: CredentialType) -> Faults:
    mechanism = settings.get("saslmechanism")
    if mechanism is None or (mechanism == _OAUTHBEARER) == (type_ is not CredentialType.PLAIN):
        return []
    return [
        ("protocolsettings.saslmechanism", f"{mechanism} can't be used with a sinkCredential of type {type_}")
    ]


# A path names a topic, in characters that a topic has; each of them may be percent-encoded.
_TOPIC_CHARACTER = "(?:[a-zA-Z0-9._-]|%(?:2[DEde]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]))"
_PATH_IS_TOPIC = {
    "properties": {"sink": {"pattern": rf"^[^/]*//[^/]*(?:/(?!\.{{1,2}}$){_TOPIC_CHARACTER}*)?$"}}
}
_MECHANISM_FITS = {
    "if": has_setting("saslmechanism", {"const": _OAUTHBEARER}),
    "then": credential_rule({"credentialType": {"not": {"const": CredentialType.PLAIN.value}}}),
    "else": {
        "if": has_setting("saslmechanism"),
        "then": credential_rule({"credentialType": {"const": CredentialType.PLAIN.value}}),
    },
}

KAFKA = Protocol(
    address=AddressForm(
        ("kafka", "kafkas"),
        "kafka://host:port,host:port/topic, or kafkas:// for TLS",
        several_hosts=True,
        path_names_target=True,
    ),
    target="topicname",
    settings={
        "topicname": Member(_topic, "The topic. Required, unless the sink names it."),
        "partitionkeyextractor": Member(
            text(255, r"[a-z0-9]+", "the name of an attribute, such as subject"),
            "The attribute or extension whose value is the record's key; `partitionkey` where none is given. Records "
            "of events that don't have it have no key, and go to any partition.",
        ),
        "clientid": Member(
            text(255), "The name by which the brokers know us; `headrace` where none is given."
        ),
        "acks": Member(
            Kind({"enum": [*_ACKS, -1, 0, 1]}, _check_acks, '`"all"`, `"1"`, `"0"`', _normal_acks),
            '`"all"`: all replicas in sync have the record. `"1"`: the leader has it. `"0"`: it was sent; nobody '
            "says that it arrived.",
            "all",
        ),
        "saslmechanism": Member(
            one_of("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", _OAUTHBEARER),
            "How a credential is sent. Where none is given, `PLAIN` for a name and a password, and `OAUTHBEARER`, "
            "the only one that there is, for tokens.",
        ),
        "mode": Member(
            one_of("binary", "structured"),
            "`binary`: `ce_` headers, `content-type`, the data as the value. `structured`: a JSON document.",
            "binary",
        ),
    },
    check_address=_check_address,
    check_credential=_check_credential,
    rules=(_PATH_IS_TOPIC, _MECHANISM_FITS),
    complete=lambda address, settings: {"topicname": address.path, **settings},
)
