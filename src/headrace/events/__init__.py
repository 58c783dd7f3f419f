"""What an event is, how it is checked, and how it travels: as JSON, as Arrow columns, over the bindings."""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.events.attributes import OFFICIAL, OFFICIAL_BY_VERSION, faults, is_json
    from headrace.events.batch import SCHEMA, from_batch, to_batch
    from headrace.events.event import AttributeValue, DataKind, Event
    from headrace.events.recorded import Arrival, Recorded

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
__getattr__ = exported(
    __name__,
    dict.fromkeys(("OFFICIAL", "OFFICIAL_BY_VERSION", "faults", "is_json"), "headrace.events.attributes")
    | dict.fromkeys(("SCHEMA", "from_batch", "to_batch"), "headrace.events.batch")
    | dict.fromkeys(("Arrival", "Recorded"), "headrace.events.recorded")
    | dict.fromkeys(("AttributeValue", "DataKind", "Event"), "headrace.events.event"),
)
