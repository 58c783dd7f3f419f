"""The command that moves a consumer to the first event that meets an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import FilterError
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.message.descriptors import MESSAGES, Version
from headrace.filters.message.size import check_size
from headrace.filters.message.wire import parse, read_expr, refuse_unknown, required, serialize, write_expr

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.message.tree import Expr

_UINT64 = range(2**64)
_INT63 = range(2**63)


@dataclass(frozen=True, slots=True)
class Seek:
    """Go to the first event that meets all given conditions, of which there is at least one.

    `position`: at this position of the log or later. `publish_time`: accepted at this millisecond or later.
    `expression`: the tree is true. The two ids are the caller's, and are returned in the answer.
    """

    consumer_id: int
    request_id: int
    position: int | None = None
    publish_time: int | None = None
    expression: Expr | None = None

    def __post_init__(self) -> None:
        _check_range("consumer_id", self.consumer_id, _UINT64)
        _check_range("request_id", self.request_id, _UINT64)
        if self.position is not None:
            _check_range("message_id", self.position, _INT63)
        if self.publish_time is not None:
            _check_range("message_publish_time", self.publish_time, _INT63)
        if self.position is None and self.publish_time is None and self.expression is None:
            problem = "give at least one of message_id, message_publish_time and expression"
            raise FilterError(problem, path="seek")


def encode_seek(seek: Seek, version: Version = Version.REVISED) -> bytes:
    """Return the bytes of a `CommandSeek`."""
    messages = MESSAGES[version]
    message = messages.CommandSeek(consumer_id=seek.consumer_id, request_id=seek.request_id)
    if seek.position is not None:
        message.message_id.ledgerId, message.message_id.entryId = 0, seek.position
    if seek.publish_time is not None:
        message.message_publish_time = seek.publish_time
    if seek.expression is not None:
        write_expr(seek.expression, message.expression, messages)
    return serialize(message)


def decode_seek(data: bytes, version: Version = Version.REVISED, *, limits: Limits = DEFAULT_LIMITS) -> Seek:
    """Decode a `CommandSeek`, or raise `FilterError` with the path to the fault."""
    messages = MESSAGES[version]
    message = parse(messages.CommandSeek, data, "seek")
    refuse_unknown(message, "seek")
    expression = None
    if message.HasField("expression"):
        expression = read_expr(message.expression, messages, "seek.expression")
        check_size(expression, limits, path="seek.expression")
    return Seek(
        consumer_id=required(message, "consumer_id", "seek"),
        request_id=required(message, "request_id", "seek"),
        position=_read_position(message.message_id) if message.HasField("message_id") else None,
        publish_time=message.message_publish_time if message.HasField("message_publish_time") else None,
        expression=expression,
    )


def _read_position(message: Any) -> int:
    path = "seek.message_id"
    refuse_unknown(message, path)
    entry: int = required(message, "entryId", path)
    if required(message, "ledgerId", path) != 0 or message.partition != -1 or message.batch_index != -1:
        problem = (
            "a position is `entryId` alone: `ledgerId` must be 0, `partition` and `batch_index` must be -1"
        )
        raise FilterError(problem, path=path, value=str(message))
    return entry


def _check_range(name: str, value: object, allowed: range) -> None:
    if type(value) is not int or value not in allowed:
        raise FilterError(f"{name} must be an integer from 0 to {allowed[-1]}", path="seek", value=value)
