"""By what subscriptions are listed."""

from __future__ import annotations

from dataclasses import replace

from headrace.api.routes.parameters import channel, cursor, namespace, number, one_of, text
from headrace.documents.schemas import Named
from headrace.protocols import PROTOCOLS
from headrace.subscriptions.subscription import STATES

MOST_LISTED = 1000
CHANNEL = channel("channel", "Of this channel.")
NAMESPACE = namespace("namespace", "Of channels of this namespace.")
SINK = text("sink", "With exactly this sink.")
PROTOCOL = replace(
    one_of("protocol", tuple(PROTOCOLS), "Delivered over this protocol."),
    schema=Named("ProtocolName", {"enum": list(PROTOCOLS)}),
)
STATE = one_of("state", STATES, "In this state.")
LIMIT = number("limit", 1, MOST_LISTED, "How many a page has at most. Without it, all are listed.")
CURSOR = cursor(int, str, description="Where the page begins, as the link of the page before says.")
QUERY_PARAMETERS = (CHANNEL, NAMESPACE, SINK, PROTOCOL, STATE, LIMIT, CURSOR)
