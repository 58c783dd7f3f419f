"""How commands end that have something to take away with them."""

from __future__ import annotations

import signal


def end_as_with_ctrl_c() -> None:
    """Take SIGTERM as Ctrl-C is taken: whatever the command has begun is ended, and its files are removed."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(*_: object) -> None:
    """Be careful: a shell has what it starts in the background ignore Ctrl-C, and SIGTERM must get through there."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)
