"""The kinds of objects that are accepted: one table."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import NotFound

MESSAGING, EVENTING = "messaging.knative.dev", "eventing.knative.dev"
OWN_GROUP = "messaging.headrace.dev"
VERSIONS = ("v1", "v1beta1")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind, and the names under which it is asked for. `rank` says what is applied before what."""

    group: str
    name: str
    plural: str
    short: str
    rank: int

    @property
    def is_addressable(self) -> bool:
        """Whether it becomes a channel, which takes events under an address."""
        return self.rank < _LISTENING

    @property
    def full_name(self) -> str:
        """The name that no other kind has: `triggers.eventing.knative.dev`."""
        return f"{self.plural}.{self.group}"

    def api_version(self, version: str) -> str:
        """Return what stands in `apiVersion`."""
        return f"{self.group}/{version}"


_LISTENING = 2
HEADRACE_CHANNEL = Kind(OWN_GROUP, "HeadraceChannel", "headracechannels", "hrch", 0)
IN_MEMORY_CHANNEL = Kind(MESSAGING, "InMemoryChannel", "inmemorychannels", "imc", 0)
CHANNEL = Kind(MESSAGING, "Channel", "channels", "ch", 1)
BROKER = Kind(EVENTING, "Broker", "brokers", "broker", 0)
SUBSCRIPTION = Kind(MESSAGING, "Subscription", "subscriptions", "sub", _LISTENING)
TRIGGER = Kind(EVENTING, "Trigger", "triggers", "trigger", _LISTENING)

KINDS = (HEADRACE_CHANNEL, IN_MEMORY_CHANNEL, CHANNEL, BROKER, SUBSCRIPTION, TRIGGER)
BACKING = (HEADRACE_CHANNEL, IN_MEMORY_CHANNEL)
"""The kinds that a generic Channel may stand on."""
CHANNELS = (CHANNEL, *BACKING)
"""The kinds that subscriptions listen to."""
# What `headrace get` and `/api` call by these names are Headrace's own channels and subscriptions.
_TAKEN = {"channels", "channel", "subscriptions", "subscription"}


def kind_of(api_version: object, name: object) -> Kind | None:
    """Return the kind that a manifest names, in any version that is served."""
    for kind in KINDS:
        if name == kind.name and api_version in [kind.api_version(version) for version in VERSIONS]:
            return kind
    return None


def kind_called(name: str) -> Kind:
    """Return the kind of a plural, a short name, `kind` or `plural.group`; NotFound where there is none."""
    for kind in KINDS:
        if name in names_of(kind):
            return kind
    raise NotFound("kind of object", name)


def names_of(kind: Kind) -> tuple[str, ...]:
    """List the names under which a kind may be asked for."""
    names = (kind.plural, kind.name.lower(), kind.short, kind.full_name)
    return tuple(dict.fromkeys(name for name in names if name not in _TAKEN))


def kind_at(group: str, name: str) -> Kind | None:
    """Return the kind of a group, as a reference names it."""
    return next((kind for kind in KINDS if (kind.group, kind.name) == (group, name)), None)
