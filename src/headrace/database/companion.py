"""What is written in the transaction of a change that somebody else makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection


class Companion:
    """What goes with one change: after a crash both are there, or neither is.

    A change may take several transactions: whoever makes it hands this to all of them, and the first one that commits
    has it. It is written again where a transaction was rolled back.
    """

    def __init__(self, write: Callable[[Connection], object]) -> None:
        self.write = write
        self.is_committed = False
