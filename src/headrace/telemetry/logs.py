"""The log for operators: one line per entry, whatever untrusted text is in it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.telemetry.texts import indented, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


class LineFormatter(logging.Formatter):
    """Writes an entry as one line. The lines of a traceback are indented, so that none can pass for an entry."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the base class's name
        """Return the line."""
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  the base class's name
        """Return the traceback."""
        return indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802  the base class's name
        """Return where it was logged."""
        return indented(super().formatStack(stack_info))


def configure_logs(form: str, quiet: Sequence[str] = ()) -> None:
    """Log to standard error in this format; from the `quiet` libraries only warnings."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(form))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.raiseExceptions = (
        False  # a line that doesn't fit on a full disk is lost, without a traceback for each
    )
    for library in quiet:
        logging.getLogger(library).setLevel(logging.WARNING)
