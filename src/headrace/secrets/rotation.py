"""Changing keys while the service runs: a new key is in force first, then rows are sealed anew, then the old one goes.

Between two of these steps everything can be opened, so that it may be broken off anywhere and begun again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from headrace.errors import SecretsLocked
from headrace.secrets.keys import KeyFile, new_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.secrets.keys import Keys

_AT_A_TIME = 200


class Resealed(NamedTuple):
    """The last subscription that was looked at, None behind the last; how many were `done`, and which are locked."""

    last: str | None
    done: int
    locked: list[str]


class SealedRows(Protocol):
    """What a rotation needs of the store that keeps sealed secrets."""

    keys: Keys

    def count_by_key(self) -> dict[str, int]:
        """Return how many rows each key has sealed, by the key's id."""
        ...

    def reseal(self, after: str, most: int) -> Resealed:
        """Seal with the first key up to `most` rows that another one sealed, in order, after a subscription."""
        ...

    def when_unused(self, key_ids: set[str], then: Callable[[], None]) -> bool:
        """Call `then` while nobody can seal, if no row needs any of these keys."""
        ...


@dataclass(frozen=True, slots=True)
class Rotation:
    """The key in force, how many rows it sealed anew, whose can't be opened, and the ids of keys that were dropped."""

    key: str
    resealed: int
    locked: tuple[str, ...]
    dropped: tuple[str, ...]


def rotate(rows: SealedRows, *, drop_old: bool, tell: Callable[[int], None] = lambda _: None) -> Rotation:
    """Make a new key, unless keys are given by the configuration, and seal everything with the first one."""
    keys = rows.keys
    if isinstance(keys, KeyFile):
        if not keys.ring() and rows.count_by_key():
            raise SecretsLocked(
                f"there are secrets in the store and no key in {keys.where}; restore it first"
            )
        # Not at the same time as another rotation: one of the two new keys would be lost.
        rows.when_unused(set(), lambda: keys.write((new_key(), *keys.ring())))
    resealed, locked = _reseal_all(rows, tell)
    first, *old = keys.ring()
    dropped: tuple[str, ...] = ()
    if drop_old and isinstance(keys, KeyFile):
        if not rows.when_unused({key.id for key in old}, lambda: keys.write((first,))):
            raise SecretsLocked(
                f"old keys were kept: secrets of {', '.join(locked) or 'subscriptions made meanwhile'} need them"
            )
        dropped = tuple(key.id for key in old)
    return Rotation(first.id, resealed, tuple(locked), dropped)


def _reseal_all(rows: SealedRows, tell: Callable[[int], None]) -> tuple[int, list[str]]:
    count, last = 0, ""
    locked: list[str] = []
    while True:
        part = rows.reseal(last, _AT_A_TIME)
        if part.last is None:
            return count, locked
        count, last = count + part.done, part.last
        locked += part.locked
        tell(count)
