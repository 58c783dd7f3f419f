"""What an event is, how it is checked, and how it travels: as JSON, as Arrow columns, over the bindings."""

from headrace.events.attributes import OFFICIAL, OFFICIAL_BY_VERSION, faults, is_json
from headrace.events.batch import SCHEMA, Arrival, Recorded, from_batch, to_batch
from headrace.events.event import AttributeValue, DataKind, Event

__all__ = [
    "OFFICIAL",
    "OFFICIAL_BY_VERSION",
    "SCHEMA",
    "Arrival",
    "AttributeValue",
    "DataKind",
    "Event",
    "Recorded",
    "faults",
    "from_batch",
    "is_json",
    "to_batch",
]
