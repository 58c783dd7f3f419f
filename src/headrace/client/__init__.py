"""What a Python program uses to publish, subscribe and receive."""

from headrace.client.client import Client
from headrace.client.consumer import Consumer, PulledEvent
from headrace.client.publisher import Publisher
from headrace.client.sink import Received, Sink
from headrace.client.token_file import TokenFile

__all__ = ["Client", "Consumer", "Publisher", "PulledEvent", "Received", "Sink", "TokenFile"]
