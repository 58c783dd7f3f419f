"""The process that parses long texts for another one."""

from __future__ import annotations

import signal
import sys

from headrace.filters.syntax.parser_process import serve

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its input, when the other one has ended
    serve(sys.stdin.buffer, sys.stdout.buffer)
