"""A sink that speaks HTTP/2 over TLS, a program of its own: python http2_server.py PORT FILE CERTIFICATE KEY ALPN."""

import asyncio
import base64
import json
import os
import sys

from hypercorn.asyncio import serve
from hypercorn.config import Config


async def main(port: str, path: str, certificate: str, key: str, alpn: str) -> None:
    out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def app(scope, receive, send):
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        head = f"{scope['method']} {scope['path']} HTTP/{scope['http_version']}"
        line = json.dumps({"head": head, "headers": headers, "body": base64.b64encode(body).decode()})
        os.write(out, line.encode() + b"\n")
        if scope["path"] == "/hang":
            await asyncio.sleep(3600)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-mine", b"1")]})
        if scope["path"] == "/endless":
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.certfile, config.keyfile = certificate, key
    config.alpn_protocols = alpn.split(",")
    config.accesslog = config.errorlog = None
    config.h2_max_inbound_frame_size = 1 << 20
    await serve(app, config, shutdown_trigger=asyncio.Event().wait)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
