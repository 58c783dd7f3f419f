"""A sink as a program of its own, so that it can be killed: python http_server.py PORT FILE [SECRET].

Each request is a line of the file before it is answered; the standard library alone reads it.
"""

import asyncio
import base64
import json
import os
import sys


async def main(port: int, path: str, secret: str) -> None:
    out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = [line.split(": ", 1) for line in head[1:-2]]
                fields = {name.lower(): value for name, value in headers}
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                if secret and fields.get("authorization") != secret:
                    writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 13\r\n\r\nwho are you? ")
                    continue
                line = json.dumps(
                    {"head": head[0], "headers": headers, "body": base64.b64encode(body).decode()}
                )
                os.write(out, line.encode() + b"\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024, limit=1 << 20)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], *(sys.argv[3:] or [""])))
