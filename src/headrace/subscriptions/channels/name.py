"""A channel's name: what producers post to and subscriptions listen to."""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.documents.schemas import Named
from headrace.errors import InvalidChannel

# DNS labels, as Kubernetes names are: they also stand in host names.
LABEL_PATTERN = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_LABEL = re.compile(LABEL_PATTERN)

LABEL = Named(
    "Label",
    {
        "type": "string",
        "description": "A DNS label.",
        "pattern": f"^{LABEL_PATTERN}$",
        "examples": ["default"],
    },
)
CHANNEL_NAME = Named(
    "ChannelName",
    {
        "type": "string",
        "description": "A channel as `namespace/name`.",
        "pattern": f"^{LABEL_PATTERN}/{LABEL_PATTERN}$",
        "examples": ["default/orders"],
    },
)


class ChannelName(NamedTuple):
    """A namespace, which is a tenant, and a name within it."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


DEFAULT_CHANNEL = ChannelName("default", "default")


def check_channel(namespace: object, name: object) -> ChannelName:
    """Return the channel's name, or raise InvalidChannel that says which part is wrong."""
    for what, value in (("namespace", namespace), ("name", name)):
        if not isinstance(value, str) or not _LABEL.fullmatch(value):
            raise InvalidChannel(
                f"{what}: {value!r} is not a DNS label (lower-case letters, digits and inner dashes, at most 63)"
            )
    return ChannelName(str(namespace), str(name))


def parse_channel(text: object) -> ChannelName:
    """Read `namespace/name`."""
    parts = text.split("/") if isinstance(text, str) else []
    if len(parts) != 2:
        raise InvalidChannel(f"{text!r} is not of the form namespace/name")
    return check_channel(*parts)
