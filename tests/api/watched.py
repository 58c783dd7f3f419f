"""The HTTP application in a process of its own, as the http role serves it, with a watchdog on its event loop.

It prints its port. For each line of its input it prints the longest standstill since the line before, in seconds, what
that was, and the most memory it had since, in bytes. It ends with its input.
"""

import asyncio
import sys
from pathlib import Path

import uvloop
from tests.api.application import Application
from tests.api.watchdog import Watchdog

from headrace.filters.syntax.parser import parsing_elsewhere
from headrace.heap import spare_heap


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


async def main(folder: Path) -> None:
    api = Application(folder)
    watchdog = Watchdog()
    watching = asyncio.create_task(watchdog.run())
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with api.served() as url:
        spare_heap()
        say(url.rpartition(":")[2])
        while await lines.readline():
            await asyncio.sleep(0.1)  # the watchdog has its turn before
            seconds, kind = watchdog.longest
            say(f"{seconds} {kind or 'none'} {peak()}")
            Path("/proc/self/clear_refs").write_text("5")
            watchdog.reset()
    watching.cancel()
    await api.close()


if __name__ == "__main__":
    with parsing_elsewhere():
        uvloop.run(main(Path(sys.argv[1])))
