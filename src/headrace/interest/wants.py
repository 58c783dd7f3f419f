"""What one subscription asks for, apart from where it is delivered to. Those who ask for the same are one want."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headrace.filters import compile_filter
from headrace.filters.ir.atoms import Comparison, Operator
from headrace.filters.ir.expression import Constant, all_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import attribute
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.localize import Localized, localize
from headrace.filters.upstream.covers import one_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.ir.expression import Expression
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.subscription import Subscription

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(tuple[str | None, list[str], list[Any]]).decode


def want_of(subscription: Subscription) -> bytes:
    """Return its source, its types and its filters."""
    return _encode((subscription.source, sorted(set(subscription.types)), subscription.filters))


def expression_of(want: bytes, channel: ChannelName) -> Localized:
    """Return what the want means to who sends to the channel.

    A filter that can't be compiled is one of another version, which may match: it leaves everything open.
    """
    source, types, filters = _decode(want)
    try:
        wished = compile_filter(filters).expression
    except Exception:  # noqa: BLE001  whatever a filter does, nothing that is wanted may be dropped for it
        return Localized(Constant(value=True), exact=False)
    return localize(flatten(all_of((*_scope(source, types), wished))), *channel)


def _scope(source: str | None, types: list[str]) -> Iterator[Expression]:
    if source is not None:
        yield Comparison(attribute("source"), Operator.EQUAL, Literal(source))
    if types:
        yield one_of(attribute("type"), map(Literal, types))
