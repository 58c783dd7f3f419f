"""The table of the accepted kinds of objects."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import NotFound

MESSAGING, EVENTING = "messaging.knative.dev", "eventing.knative.dev"
OWN_GROUP = "messaging.headrace.dev"
VERSIONS = ("v1", "v1beta1")


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind and its names. Kinds of a lower `rank` are applied first."""

    group: str
    name: str
    plural: str
    short: str
    rank: int

    @property
    def is_addressable(self) -> bool:
        """Whether its objects become channels, which take events at an address."""
        return self.rank < _LISTENING

    @property
    def full_name(self) -> str:
        """The unambiguous name: `triggers.eventing.knative.dev`."""
        return f"{self.plural}.{self.group}"

    def api_version(self, version: str) -> str:
        """Return the value of `apiVersion`."""
        return f"{self.group}/{version}"


_LISTENING = 2
HEADRACE_CHANNEL = ObjectKind(OWN_GROUP, "HeadraceChannel", "headracechannels", "hrch", 0)
IN_MEMORY_CHANNEL = ObjectKind(MESSAGING, "InMemoryChannel", "inmemorychannels", "imc", 0)
CHANNEL = ObjectKind(MESSAGING, "Channel", "channels", "ch", 1)
BROKER = ObjectKind(EVENTING, "Broker", "brokers", "broker", 0)
SUBSCRIPTION = ObjectKind(MESSAGING, "Subscription", "subscriptions", "sub", _LISTENING)
TRIGGER = ObjectKind(EVENTING, "Trigger", "triggers", "trigger", _LISTENING)

KINDS = (HEADRACE_CHANNEL, IN_MEMORY_CHANNEL, CHANNEL, BROKER, SUBSCRIPTION, TRIGGER)
BACKING = (HEADRACE_CHANNEL, IN_MEMORY_CHANNEL)
"""The kinds that may back a generic Channel."""
CHANNELS = (CHANNEL, *BACKING)
"""The kinds that subscriptions listen to."""
# In `headrace get` and `/api` these names mean Headrace's own channels and subscriptions.
_TAKEN = {"channels", "channel", "subscriptions", "subscription"}


def kind_of(api_version: object, name: object) -> ObjectKind | None:
    """Return the kind that a manifest names, in any served version."""
    for kind in KINDS:
        if name == kind.name and api_version in [kind.api_version(version) for version in VERSIONS]:
            return kind
    return None


def kind_called(name: str) -> ObjectKind:
    """Return the kind with this plural, short name, `kind` or `plural.group`, or raise NotFound."""
    for kind in KINDS:
        if name in names_of(kind):
            return kind
    raise NotFound("kind of object", name)


def names_of(kind: ObjectKind) -> tuple[str, ...]:
    """List the names by which a kind may be requested."""
    names = (kind.plural, kind.name.lower(), kind.short, kind.full_name)
    return tuple(dict.fromkeys(name for name in names if name not in _TAKEN))


def kind_at(group: str, name: str) -> ObjectKind | None:
    """Return the kind that a reference names by group and name."""
    return next((kind for kind in KINDS if (kind.group, kind.name) == (group, name)), None)
