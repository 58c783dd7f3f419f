"""Many proposals that were checked and wait to be stored, in a file that only this process can read.

A hundred thousand of them don't belong into memory, nor into a transaction that is open while somebody sends them. What
they must not show is in there as well: so the file has no name, and its key is kept in memory alone.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from headrace.filters.compiled import read_compiled
from headrace.secrets.secrets import Secrets
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.points import LATEST, Point
from headrace.subscriptions.store.rows import from_document, to_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.filter import Filter
    from headrace.subscriptions.subscription import Subscription

_TOGETHER = 1000
_SIZE_BYTES = 4


class Entry(msgspec.Struct, array_like=True, frozen=True):
    """A proposal's row, all but the revision, and apart from that what is sealed or asks for more than a row.

    `given` is the id that its line came with, where the row has one that was made from it.
    """

    row: dict[str, Any]
    secrets: bytes | None
    from_past: bool
    given: str | None

    @classmethod
    def of(cls, proposal: Subscription, given: str | None = None) -> Self:
        """Write a proposal down."""
        secrets = proposal.secrets.to_json() if proposal.secrets else None
        return cls(to_row(proposal, 0), secrets, proposal.start != Point(edge=LATEST), given)

    @property
    def id(self) -> str:
        """The subscription's id."""
        return str(self.row["id"])

    @property
    def channel(self) -> ChannelName:
        """The subscription's channel."""
        return ChannelName(self.row["namespace"], self.row["channel"])

    def compiled_filter(self) -> Filter:
        """Return the subscription's filters as one."""
        return read_compiled(msgspec.json.decode(self.row["document"])["filters"], self.row["compiled"])

    @property
    def is_plain(self) -> bool:
        """Whether it is its row and nothing else."""
        return self.secrets is None and not self.from_past

    def proposal(self) -> Subscription:
        """Return the proposal again."""
        secrets = Secrets() if self.secrets is None else Secrets.from_json(self.secrets)
        return replace(from_document(self.id, self.row["document"], self.channel), secrets=secrets)


class Lot:
    """Belongs to one thread at a time. It may be gone through more than once, in pages."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  closed by `__exit__`
        self._key = AESGCM(AESGCM.generate_key(256))
        self._page: list[Entry] = []
        self._pages = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, proposal: Subscription, given: str | None = None) -> None:
        """Put one more to the others; `given` is the id that its own was made from."""
        self._page.append(Entry.of(proposal, given))
        self._size += 1
        if len(self._page) == _TOGETHER:
            self._write()

    def pages(self) -> Iterator[list[Entry]]:
        """Go through them in their order, some at a time."""
        if self._page:
            self._write()
        self._file.seek(0)
        for number in range(self._pages):
            size = int.from_bytes(self._file.read(_SIZE_BYTES))
            content = self._key.decrypt(_nonce(number), self._file.read(size), None)
            yield msgspec.msgpack.decode(content, type=list[Entry])

    def _write(self) -> None:
        content = self._key.encrypt(_nonce(self._pages), msgspec.msgpack.encode(self._page), None)
        self._file.seek(0, 2)
        self._file.write(len(content).to_bytes(_SIZE_BYTES) + content)
        self._page, self._pages = [], self._pages + 1


def _nonce(number: int) -> bytes:
    """Each page has its own, and the key is used for nothing else."""
    return number.to_bytes(12)
