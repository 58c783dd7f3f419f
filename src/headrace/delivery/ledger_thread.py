"""The ledger, and the thread in which its and the store's calls are made: the event loop waits for no database."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from headrace.ledger.ledger import Ledger

T = TypeVar("T")


class LedgerThread:
    """Calls run one after the other, in the order in which they are made."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a call that may block."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)

    def close(self) -> None:
        """Wait for the call under way, and let go of the thread."""
        self._thread.shutdown()
