"""A sink that behaves badly, as a process that may be killed: `python chaos_sink.py PORT FILE SEED`.

What it accepts is in the file before the answer goes out, so that a kill takes nothing of the record with it.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

import httptools

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy"
LATER = b"HTTP/1.1 429 Later\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"
SLOW = b"HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\n"


class Moody(asyncio.Protocol):
    def __init__(self, record: int, chance: random.Random) -> None:
        self._record = record
        self._chance = chance
        self._parser = httptools.HttpRequestParser(self)
        self._id = b""
        self._path = b""

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, data):
        self._parser.feed_data(data)

    def on_url(self, url):
        self._path = url

    def on_header(self, name, value):
        if name.lower() == b"ce-id":
            self._id = value

    def on_message_complete(self):
        mood = self._chance.random()
        if mood < 0.05:
            self._transport.write(BUSY)
        elif mood < 0.055:
            self._transport.write(LATER)
        elif mood < 0.06:
            self._transport.close()
        elif mood < 0.061:
            pass  # it says nothing, until the other end has waited long enough
        else:
            os.write(self._record, self._path + b" " + self._id + b"\n")
            if mood < 0.063:
                self._dribble(60)
            else:
                self._transport.write(OK)

    def _dribble(self, left):
        """Answer well and slowly, for longer than anybody waits."""
        if not self._transport.is_closing():
            self._transport.write(SLOW if left == 60 else b".")
            if left:
                asyncio.get_running_loop().call_later(0.1, self._dribble, left - 1)


async def main(port: int, file: str, seed: str) -> None:
    record = os.open(Path(file), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    chance = random.Random(f"{seed} {os.getpid()}")
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Moody(record, chance), "127.0.0.1", port, backlog=1024, reuse_address=True
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
