"""What is settled and the cursor has not passed yet: the ledger is told of it with the next commit."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from headrace.ledger.settled import Settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.delivery.intake.progress import Reach
    from headrace.events.positions import LogPosition
    from headrace.ledger.ledger import Key


class Unpassed:
    """For one event loop. `known` is what the ledger was told of before, `number` what its next row may be called."""

    def __init__(self, known: Iterable[Settled], number: int) -> None:
        self._number = number
        self._settled: list[Key] = []
        self._rows = {each.number: each.end() for each in known if not each.replay}
        # By replay and the number that it has to reach. Those known from before a start go when the replay is over.
        self._replay_rows: dict[int, tuple[str, int]] = {}

    @property
    def count(self) -> int:
        """How many were settled since the last commit."""
        return len(self._settled)

    def settle(self, key: Key) -> None:
        """Take note of a delivery that needs no other attempt."""
        self._settled.append(key)

    def take(self, cursor: LogPosition, replays: Mapping[str, Reach]) -> tuple[list[Settled], list[int]]:
        """Return rows of what was settled and isn't passed, and the numbers of the rows that have been passed."""
        passed = [number for number, end in self._rows.items() if end <= cursor]
        passed += [
            number
            for number, (replay, end) in self._replay_rows.items()
            if replay not in replays or end <= replays[replay].settled
        ]
        for number in passed:
            self._rows.pop(number, None)
            self._replay_rows.pop(number, None)
        unsettled = {replay for replay, reach in replays.items() if reach.settled < reach.begun}
        positions: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for subscription, position, replay, _ in self._settled:
            if replay in unsettled if replay else not cursor.is_behind(position):
                positions[replay][subscription].append(position)
        self._settled = []
        rows: list[Settled] = []
        for replay, some in positions.items():
            row = Settled(self._number, replay, some)
            rows.append(row)
            self._number += 1
            if replay:
                self._replay_rows[row.number] = replay, replays[replay].begun
            else:
                self._rows[row.number] = row.end()
        return rows, passed
