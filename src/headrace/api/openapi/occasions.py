"""What is asked of a subscription on one occasion and not on others: an update, a creation, an import, a test-send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import any_case
from headrace.protocols.rules import CREDENTIAL_NAMES, HAS_CREDENTIAL, settings_rule
from headrace.secrets.masks import MASK, SENSITIVE
from headrace.subscriptions.subscription import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

Schema = dict[str, Any]

UNMASKED: Schema = {"additionalProperties": {"not": {"const": MASK}}}
"""An object whose members are no masks."""

_EXAMPLE = {
    "protocol": "HTTP",
    "sink": "https://example.com/events",
    "filters": [{"prefix": {"type": "com.example."}}],
}
_SENSITIVE_HEADER = any_case(SENSITIVE)


def occasion_schemas(variants: Sequence[str]) -> dict[str, Schema]:
    """Return the schemas by name; `variants` are those of the protocols, which take all that any occasion does."""
    return {
        "SubscriptionUpdate": {
            "description": (
                "A subscription as it is to be. A mask, or a signing key as it is shown, stands for the secret that is "
                "there."
            ),
            "anyOf": [_ref(name) for name in variants],
            "examples": [_EXAMPLE],
        },
        "SubscriptionProposal": {
            "description": "A subscription as it is proposed. An `id` is ignored; the service gives one.",
            **_also(variants, "WithoutMasks"),
            "examples": [_EXAMPLE],
        },
        "SubscriptionLine": {
            "description": "A subscription of an import.",
            **_also(variants, "WithoutMasks", "WithKeysGiven", "AsItStood"),
        },
        "SubscriptionTest": {
            "description": "A subscription to be tried out. It has no secrets, as they would have to be kept.",
            **_also(variants, "WithoutSecrets"),
        },
        "WithoutMasks": _without_masks(),
        "WithKeysGiven": {
            "description": "A signing key that was made by an import would be shown to nobody.",
            **_settings({"signing": {"type": "array"}}),
        },
        "AsItStood": _as_it_stood(),
        "WithoutSecrets": _without_secrets(),
    }


def _also(variants: Sequence[str], *more: str) -> Schema:
    """Ask for more of each variant. Said of all at once, beside `anyOf`, it is too much for generators of examples."""
    return {"anyOf": [{"allOf": [_ref(variant), *map(_ref, more)]} for variant in variants]}


def _without_masks() -> Schema:
    headers = {"patternProperties": {_SENSITIVE_HEADER: {"not": {"const": MASK}}}}
    settings = _settings({"headers": headers, "signing": {"items": {"type": "string"}}})
    return {
        "description": "Secrets are given, and nothing stands for them.",
        "properties": dict.fromkeys(CREDENTIAL_NAMES, UNMASKED) | settings["properties"],
    }


def _as_it_stood() -> Schema:
    delivery = {"properties": {"state": {"enum": list(STATES)}, "reason": {"type": "string"}}}
    return {
        "description": "It may say in `status.delivery` that it is paused, or has ended.",
        "properties": {"status": {"properties": {"delivery": delivery}}},
    }


def _without_secrets() -> Schema:
    plain = {"propertyNames": {"not": {"pattern": _SENSITIVE_HEADER}}}
    return {
        "description": "There is no credential, no signing key, and no header with a name of something secret.",
        "not": HAS_CREDENTIAL,
        **_settings({"headers": plain, "signing": False}),
    }


def _settings(properties: Schema) -> Schema:
    return settings_rule({"properties": properties})


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
