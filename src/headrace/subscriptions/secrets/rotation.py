"""Changing keys while the service runs: a new key is in force first, then rows are sealed anew, then the old one goes.

Between two of these steps everything can be opened, so that it may be broken off anywhere and begun again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import SecretsLocked
from headrace.subscriptions.secrets.keys import KeyFile, new_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.subscriptions.secrets.safe import Safe

_AT_A_TIME = 200


@dataclass(frozen=True, slots=True)
class Rotation:
    """The key in force, how many rows it sealed anew, whose can't be opened, and the ids of keys that were dropped."""

    key: str
    resealed: int
    locked: tuple[str, ...]
    dropped: tuple[str, ...]


def rotate(safe: Safe, *, drop_old: bool, tell: Callable[[int], None] = lambda _: None) -> Rotation:
    """Make a new key, unless keys are given by the configuration, and seal everything with the first one."""
    keys = safe.keys
    if isinstance(keys, KeyFile):
        if not keys.ring() and safe.count_by_key():
            raise SecretsLocked(
                f"there are secrets in the store and no key in {keys.where}; restore it first"
            )
        # Not at the same time as another rotation: one of the two new keys would be lost.
        safe.when_unused(set(), lambda: keys.write((new_key(), *keys.ring())))
    resealed, locked = _reseal_all(safe, tell)
    first, *old = keys.ring()
    dropped: tuple[str, ...] = ()
    if drop_old and isinstance(keys, KeyFile):
        if not safe.when_unused({key.id for key in old}, lambda: keys.write((first,))):
            raise SecretsLocked(
                f"old keys were kept: secrets of {', '.join(locked) or 'subscriptions made meanwhile'} need them"
            )
        dropped = tuple(key.id for key in old)
    return Rotation(first.id, resealed, tuple(locked), dropped)


def _reseal_all(safe: Safe, tell: Callable[[int], None]) -> tuple[int, list[str]]:
    count, last = 0, ""
    locked: list[str] = []
    while True:
        part = safe.reseal(last, _AT_A_TIME)
        if part.last is None:
            return count, locked
        count, last = count + part.done, part.last
        locked += part.locked
        tell(count)
