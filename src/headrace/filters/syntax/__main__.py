"""The process that parses long texts for another process."""

from __future__ import annotations

import signal
import sys

from headrace.filters.syntax.parser_process import serve

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its input, when the other process ends
    serve(sys.stdin.buffer, sys.stdout.buffer)
