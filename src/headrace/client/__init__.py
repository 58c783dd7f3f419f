"""What a Python program uses to publish, subscribe and receive.

`client.py` sends and pulls events and has every call of the API (`calls/`, over `session.py`); `publisher.py` drops
events that nobody wants (by `interest.py`); `consumer.py` pulls; `sink.py` receives; `points.py` has points in the
history, `token_file.py` tokens.
"""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.client.client import Client
    from headrace.client.consumer import Consumer, PulledEvent
    from headrace.client.publisher import Publisher
    from headrace.client.sink import Received, Sink
    from headrace.client.token_file import TokenFile

__all__ = ["Client", "Consumer", "Publisher", "PulledEvent", "Received", "Sink", "TokenFile"]
__getattr__ = exported(
    __name__,
    {
        "Client": "headrace.client.client",
        "Consumer": "headrace.client.consumer",
        "Publisher": "headrace.client.publisher",
        "PulledEvent": "headrace.client.consumer",
        "Received": "headrace.client.sink",
        "Sink": "headrace.client.sink",
        "TokenFile": "headrace.client.token_file",
    },
)
