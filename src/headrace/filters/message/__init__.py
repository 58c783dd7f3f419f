"""Message filter expressions: predicate trees over properties and times, with a builder, a JSON and a protobuf form."""

from headrace.filters.message.builder import event_time, property, publish_time  # noqa: A004
from headrace.filters.message.descriptors import Version
from headrace.filters.message.json_form import from_json, to_json
from headrace.filters.message.operators import Operator, ValueType
from headrace.filters.message.seek import Seek, decode_seek, encode_seek
from headrace.filters.message.translation import to_cel
from headrace.filters.message.tree import And, Expr, Not, Or, Predicate, Property, Time
from headrace.filters.message.wire import from_bytes, to_bytes

__all__ = [
    "And",
    "Expr",
    "Not",
    "Operator",
    "Or",
    "Predicate",
    "Property",
    "Seek",
    "Time",
    "ValueType",
    "Version",
    "decode_seek",
    "encode_seek",
    "event_time",
    "from_bytes",
    "from_json",
    "property",
    "publish_time",
    "to_bytes",
    "to_cel",
    "to_json",
]
