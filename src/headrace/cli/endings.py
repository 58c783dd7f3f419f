"""How commands end that have something to take away with them."""

from __future__ import annotations

import signal


def end_as_with_ctrl_c() -> None:
    """Take SIGTERM as Ctrl-C is taken: whatever the command has begun is ended, and its files are removed."""
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
