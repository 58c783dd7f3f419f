"""The health of an event loop: it reports itself, so that one that is blocked falls silent."""

from __future__ import annotations

import asyncio
import time

from headrace.telemetry.health import HEALTH

_PART = "event loop"
_SECONDS = 1.0
_SILENT_AFTER = 10.0
_WORTH_TELLING = 1.0


async def report_turns() -> None:
    """Report once a second, and for how long the loop was blocked, if it was."""
    while True:
        expected = time.monotonic() + _SECONDS
        await asyncio.sleep(_SECONDS)
        held = time.monotonic() - expected
        note = f"it turns again; something held it for {held:.1f} s" if held > _WORTH_TELLING else "it turns"
        HEALTH.idle(_PART, note, _SILENT_AFTER)
