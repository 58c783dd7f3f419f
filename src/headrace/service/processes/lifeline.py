"""Stop a process when its parent, which holds the other end of its standard input, is gone."""

from __future__ import annotations

import os
import signal
import threading


def hold_on_to_starter() -> None:
    """Send SIGTERM to this process when the one that started it is gone, for whatever reason."""
    threading.Thread(target=_stop_at_end_of_input, name="headrace-lifeline", daemon=True).start()


def _stop_at_end_of_input() -> None:
    while os.read(
        0, 1
    ):  # not sys.stdin: its lock, held here for ever, would abort the end of the interpreter
        pass
    os.kill(os.getpid(), signal.SIGTERM)
