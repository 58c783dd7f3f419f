"""A process that doesn't outlive the one that started it, which holds the other end of its standard input."""

from __future__ import annotations

import os
import signal
import threading


def hold_on_to_starter() -> None:
    """Have this process told to stop when the one that started it is gone, however it went."""
    threading.Thread(target=_stop_at_end_of_input, name="headrace-lifeline", daemon=True).start()


def _stop_at_end_of_input() -> None:
    while os.read(
        0, 1
    ):  # not sys.stdin: its lock, held here for ever, would abort the end of the interpreter
        pass
    os.kill(os.getpid(), signal.SIGTERM)
