"""The process that joins many criteria: it reads a `BuildTask` and writes a `BuiltInterest`."""

from __future__ import annotations

import sys

import msgspec

from headrace.interest.union import BuildTask, build


def _main() -> None:
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=BuildTask)
    sys.stdout.buffer.write(msgspec.msgpack.encode(build(task)))


if __name__ == "__main__":
    _main()
