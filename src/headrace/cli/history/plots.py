"""Pictures need matplotlib, which only those install who want them."""

from __future__ import annotations

from typing import Any

from headrace.errors import HeadraceError


def require_plots() -> None:
    """Raise now, and not after the measurement, where pictures can't be drawn."""
    pyplot()


def pyplot() -> Any:
    """Return matplotlib, drawing to files; HeadraceError where it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise HeadraceError(
            "--plot needs matplotlib: install the extra, pip install 'headrace[plot]'"
        ) from error
    mpl.use("agg")
    from matplotlib import pyplot as plt

    return plt
