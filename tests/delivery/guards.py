"""A guard as the embedded default has it."""

from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.networks import Network

LOOPBACK = Guard([Network("127.0.0.0/8"), Network("::1/128")])
