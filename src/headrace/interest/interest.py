"""What is told of one channel at one revision of the store."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters import compile_filter
from headrace.filters.ir.expression import paths_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.upstream.bloom import ExportedBloom
    from headrace.interest.union import Text
    from headrace.subscriptions.channels.name import ChannelName

_SHOWN = 32


@dataclass(frozen=True, slots=True)
class Interest:
    """Holds for everybody who was subscribed at the revision, paused ones included, and was not asked to end."""

    channel: ChannelName
    revision: int
    subscriptions: int
    text: Text
    make_bloom: Callable[[], ExportedBloom]

    @property
    def etag(self) -> str:
        """Names the expression; it stays when other things change."""
        return _tag(f"{self.text.exact} {self.text.cel}".encode())

    @property
    def variables(self) -> list[str]:
        """The variables that the expression looks at: whoever evaluates it has to bind them."""
        expression = compile_filter({"cel": self.text.cel}).expression
        return sorted({path.steps[0] for path in paths_of(expression)})

    def bloom(self) -> tuple[bytes, str]:
        """Return the Bloom filter's bytes and their tag; takes some time where nobody asked before."""
        data = self.make_bloom().to_bytes()
        return data, _tag(data)


def _tag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:_SHOWN]}"'
