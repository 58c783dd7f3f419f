"""Keys of a subscription's `config` that a channel declares, beside the service's own.

What they mean is the producers' business: Headrace checks that a subscription has what its channel declares, of the
declared type, and nothing else. A declaration is an object, or the type alone:

    "subscriptionconfig": {"interval": {"type": "integer", "enum": [1, 5], "required": true}, "unit": "string"}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.documents.schemas import Named, record
from headrace.documents.whole_numbers import whole_number

if TYPE_CHECKING:
    from headrace.documents.faults import Faults
    from headrace.subscriptions.channels.name import ChannelName

OWN_TYPES: dict[str, dict[str, Any]] = {
    "channel": {"type": "string", "required": False, "description": "The channel, as namespace/name."},
    "start": {"type": ["string", "object"], "required": False, "description": "From where it is delivered."},
    "delivery": {"type": "object", "required": False, "description": "How hard delivery is tried."},
    "reply": {
        "type": "object",
        "required": False,
        "description": "Where events go that the sink answers with.",
    },
}
"""What every subscription may have in its `config`, declared as a channel declares what it has besides."""
OWN_KEYS = tuple(OWN_TYPES)

_MOST_KEYS, _MOST_VALUES, _LONGEST = 100, 100, 200
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
TYPES = tuple(_TYPES)
_TYPE = Named("ConfigType", {"enum": list(TYPES)})
_MEMBERS = {
    "type": _TYPE,
    "required": {"type": "boolean", "default": False},
    "enum": {
        "type": "array",
        "maxItems": _MOST_VALUES,
        "description": "The values that may be given; any of the type where it is empty.",
    },
    "description": {"type": "string"},
}
_VALUES_OF_TYPE = [
    {
        "if": {"properties": {"type": {"const": name}}},
        "then": {"properties": {"enum": {"items": {"type": name}}}},
    }
    for name in TYPES
]
_DECLARATION = Named("ConfigDeclaration", record(_MEMBERS, ["type"], allOf=_VALUES_OF_TYPE))
DECLARATIONS = Named(
    "ConfigDeclarations",
    {
        "type": "object",
        "description": (
            "Keys that subscriptions to the channel may have in their `config`, each with its type or with more."
        ),
        "maxProperties": _MOST_KEYS,
        "propertyNames": {
            "type": "string",
            "minLength": 1,
            "maxLength": _LONGEST,
            "not": {"enum": list(OWN_KEYS)},
        },
        "additionalProperties": {"anyOf": [_TYPE, _DECLARATION]},
        "examples": [{"interval": {"type": "integer", "enum": [1, 5], "required": True}, "unit": "string"}],
    },
)


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """`enum` empty: any value of the type."""

    type: str
    required: bool = False
    enum: tuple[Any, ...] = ()
    description: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the declaration, defaults applied."""
        shown: dict[str, Any] = {"type": self.type, "required": self.required}
        if self.enum:
            shown["enum"] = list(self.enum)
        return shown if self.description is None else shown | {"description": self.description}


Declared = Callable[["ChannelName"], Mapping[str, ConfigKey]]
"""Who knows what a channel declares."""


def nothing_declared(_: ChannelName) -> Mapping[str, ConfigKey]:
    """Say that a channel declares nothing."""
    return {}


def parse_declarations(value: object, path: str, faults: Faults) -> dict[str, ConfigKey]:
    """Read what a channel declares; what is wrong is added to the faults."""
    if not isinstance(value, dict):
        faults.append((path, "has to be an object of declarations by key"))
        return {}
    if len(value) > _MOST_KEYS:
        faults.append((path, f"has more than {_MOST_KEYS} keys"))
    declared = {}
    for key, declaration in value.items():
        here = f"{path}.{key}"
        if not key or len(key) > _LONGEST or key in OWN_KEYS:
            faults.append(
                (
                    here,
                    f"can't be declared: a key has 1 to {_LONGEST} characters and is none of the service's own",
                )
            )
        elif (read := _parse_one(declaration, here, faults)) is not None:
            declared[key] = read
    return declared


def _parse_one(declaration: object, path: str, faults: Faults) -> ConfigKey | None:
    members = {"type": declaration} if isinstance(declaration, str) else declaration
    if not isinstance(members, dict):
        faults.append((path, f"has to be a type, or an object with {', '.join(_MEMBERS)}"))
        return None
    before = len(faults)
    faults += [
        (f"{path}.{name}", f"unknown member; a declaration has: {', '.join(_MEMBERS)}")
        for name in members
        if name not in _MEMBERS
    ]
    type_, enum = members.get("type"), members.get("enum", [])
    if not isinstance(type_, str) or type_ not in TYPES:
        faults.append((f"{path}.type", f"is required, and has to be one of {', '.join(TYPES)}"))
    elif (
        not isinstance(enum, list)
        or len(enum) > _MOST_VALUES
        or not all(_is_of(type_, each) for each in enum)
    ):
        faults.append(
            (f"{path}.enum", f"has to be an array of at most {_MOST_VALUES} values of type {type_}")
        )
    if not isinstance(members.get("required", False), bool):
        faults.append((f"{path}.required", "has to be true or false"))
    if not isinstance(members.get("description", ""), str):
        faults.append((f"{path}.description", "has to be a text"))
    if len(faults) > before:
        return None
    return ConfigKey(str(type_), members.get("required", False), tuple(enum), members.get("description"))


def check_keys(config: Mapping[str, Any], channel: ChannelName, declared: Mapping[str, ConfigKey]) -> Faults:
    """Tell which keys of a config are neither the service's own nor as the channel declares them."""
    there = ", ".join([*OWN_KEYS, *(f"{key} ({each.type})" for key, each in declared.items())])
    faults: Faults = [
        (f"config.{key}", f"unknown key; subscriptions to {channel} have: {there}")
        for key in config
        if key not in OWN_KEYS and key not in declared
    ]
    for key, declaration in declared.items():
        if key not in config:
            if declaration.required:
                faults.append((f"config.{key}", f"is required: channel {channel} declares it"))
        elif not _is_of(declaration.type, config[key]):
            faults.append((f"config.{key}", f"has to be of type {declaration.type}"))
        elif declaration.enum and config[key] not in declaration.enum:
            allowed = ", ".join(map(repr, declaration.enum))
            faults.append((f"config.{key}", f"{config[key]!r} is none of {allowed}"))
    return faults


def _is_of(type_: str, value: object) -> bool:
    """Tell whether a value is of a type; true and false are no numbers."""
    if type_ == "integer":
        return whole_number(value) is not None
    return isinstance(value, _TYPES[type_]) and (type_ == "boolean" or not isinstance(value, bool))
