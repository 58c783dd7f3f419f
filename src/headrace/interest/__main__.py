"""The process that joins many wants: a `Task` comes in, `Built` goes out."""

from __future__ import annotations

import sys

import msgspec

from headrace.interest.union import Task, build


def _main() -> None:
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Task)
    sys.stdout.buffer.write(msgspec.msgpack.encode(build(task)))


if __name__ == "__main__":
    _main()
