"""The role that listens: channel ingress and control API, the one writer of the event log."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn
import uvloop

from headrace.api.app import build_app
from headrace.api.channels import KnownChannels
from headrace.api.ingress import Ingress
from headrace.api.management import Management
from headrace.api.pressure import Pressure
from headrace.api.travel import Travel
from headrace.errors import ConfigError
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.service.layout import Layout
from headrace.service.logs import open_log_writer
from headrace.service.states import READY, announce, read_states
from headrace.subscriptions.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.api.settings import ApiSettings
    from headrace.config import Config

ROLE = "http"
_FOLLOW_SECONDS = 1.0
_LOOK_SECONDS = 0.5
# Longer than producers' pools keep a connection, so that they never write into one that is just being closed.
_KEEP_ALIVE_SECONDS = 75
_log = logging.getLogger(__name__)


def run(config: Config) -> None:
    """Serve until told to stop; finish what was accepted."""
    listener = _listen(config.api)
    uvloop.run(_serve(config, listener))


async def _serve(config: Config, listener: socket.socket) -> None:
    layout = Layout(config.data)
    log = open_log_writer(config)
    patience = config.store.patience_seconds
    store, jobs = Store(config.store.url, patience), Jobs(config.store.url, patience)
    channels = KnownChannels(store)
    pressure = Pressure(log.gauges, config.api)
    ingress = Ingress(log.writer, channels, pressure, config.api)
    management = Management(
        store,
        channels,
        end_of_log=log.end,
        roles=lambda: read_states(layout.run, config.roles),
        jobs=jobs,
        metrics=config.api.metrics,
    )
    server = _Server(
        uvicorn.Config(
            build_app(ingress, management, Travel(store, jobs, Replays(jobs))),
            http="httptools",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=config.api.shutdown_seconds,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, server.stop)
    following = [
        asyncio.create_task(channels.follow(_FOLLOW_SECONDS)),
        asyncio.create_task(pressure.follow(_LOOK_SECONDS)),
    ]
    announce(layout.run, ROLE, READY)
    _log.info("listening on http://%s:%d", *listener.getsockname()[:2])
    await server.serve([listener])
    for task in following:
        task.cancel()
    await log.writer.close()
    jobs.close()
    store.close()


class _Server(uvicorn.Server):
    """A server that leaves the process's signals to the role."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True


def _listen(settings: ApiSettings) -> socket.socket:
    """Bind before anything else starts: a port that is taken is worth a clear word."""
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
