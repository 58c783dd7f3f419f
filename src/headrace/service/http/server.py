"""The HTTP server of a role: its socket is bound early, and it stops when the role is told to."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn

from headrace.api.requests.proxies import Proxies
from headrace.errors import ConfigError
from headrace.service.http.connections import Connections
from headrace.service.http.protocol import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from headrace.api.settings import ApiSettings

# Longer than producers' pools keep a connection, so that they never write into one that is just being closed.
_KEEP_ALIVE_SECONDS = 75
_CHECK_SECONDS = 0.5
_log = logging.getLogger(__name__)


async def serve(
    app: Callable[..., Awaitable[None]],
    listener: socket.socket,
    settings: ApiSettings,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve until the process is told to stop, and finish what was begun. `on_stop` ends long-lived answers."""
    server = make_server(app, settings)

    def stop() -> None:
        on_stop()
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    on_ready()
    address: Any = listener.getsockname()
    _log.info("listening on http://%s:%d", *address[:2])
    await server.serve([listener])


def make_server(app: Callable[..., Awaitable[None]], settings: ApiSettings) -> uvicorn.Server:
    """Make the server of an application, with limits on connections and on what they send."""
    counted = Connections(settings, Proxies(settings.trusted_proxies))
    protocol: Any = partial(BoundedProtocol, limits=settings, counted=counted)
    return _Server(
        uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=settings.shutdown_seconds,
        )
    )


class _Server(uvicorn.Server):
    """Ends overdue connections, and leaves the handling of signals to the role."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        checking = asyncio.create_task(self._check_connections())
        try:
            await super().serve(sockets)
        finally:
            checking.cancel()

    async def _check_connections(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            for each in list(self.server_state.connections):
                if isinstance(each, BoundedProtocol):
                    each.check(clock())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(settings: ApiSettings) -> socket.socket:
    """Bind the port before anything else starts, so that a port in use fails early and clearly."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        raise ConfigError(
            f"can't listen on {settings.host}:{settings.port}: {error.strerror}; choose another with --port"
        ) from error
    listener.listen(2048)
    listener.setblocking(False)
    return listener
