"""The parts of the API, in the order in which the OpenAPI document lists them."""

from __future__ import annotations

from headrace.api.routes.route import Tag

EVENTS = Tag("Events", "A channel's address takes events in.")
SUBSCRIPTIONS = Tag("Subscriptions", "The CloudEvents Subscriptions API, and what it has beyond that.")
CHANNELS = Tag("Channels", "What producers post to and subscriptions listen to.")
FILTERS = Tag("Filters", "What a filter means, why it holds on an event, and what it would have matched.")
HISTORY = Tag("History", "Seek and replay are jobs, which the pipeline does and anybody may look at.")
DELIVERIES = Tag("Deliveries", "What was tried, what was given up, and trying it again.")
PULLING = Tag("Pulling", "Events that wait until a consumer asks for them, and acknowledges them.")
OBJECTS = Tag("Objects", "Knative's objects: channels, subscriptions, brokers and triggers.")
ACCESS = Tag("Access", "Who may do what: API keys, quotas, and the record of changes.")
DISCOVERY = Tag("Discovery", "What this service can do.")
OPERATION = Tag("Operation", "Whether the service is well.")

TAGS = (
    EVENTS, SUBSCRIPTIONS, CHANNELS, FILTERS, HISTORY, DELIVERIES, PULLING, OBJECTS, ACCESS, DISCOVERY, OPERATION,
)  # fmt: skip
