"""Servers to deliver to: started for a benchmark in a folder of their own, on this machine, and ended with it.

What is installed is used: Mosquitto, nats-server, RabbitMQ, and Kafka where its jars are named. A server elsewhere is
named by its address instead.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.service.processes.service import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

_START_SECONDS = 90.0
_STOP_SECONDS = 20.0
QUEUE = "headrace-bench"
_RABBIT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one in the PATH becomes another user
_MOSQUITTO_CONF = """
listener {port} 127.0.0.1
allow_anonymous true
max_inflight_messages 0
max_queued_messages 0
"""
_RABBIT_CONF = """
listeners.tcp.1 = 127.0.0.1:{port}
load_definitions = {folder}/definitions.json
amqp1_0.default_user = bench
disk_free_limit.absolute = 1MB
"""
_KAFKA_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
auto.create.topics.enable=true
offsets.topic.replication.factor=1
"""


@contextmanager
def server(protocol: str, given: str | None, folder: Path, kafka_jars: Path | None) -> Iterator[str]:
    """Yield the address of a protocol's server: the given one, or that of one that runs here meanwhile."""
    if given is not None:
        yield given
        return
    with _KINDS[protocol](folder, kafka_jars) as address:
        yield address


@contextmanager
def _mosquitto(folder: Path, _: Path | None) -> Iterator[str]:
    program, port = _find("mosquitto", "MQTT5"), free_port()
    root = "user root\n" if os.geteuid() == 0 else ""  # else it becomes a user that can't read this folder
    (folder / "mosquitto.conf").write_text(_MOSQUITTO_CONF.format(port=port) + root)
    with _running([program, "-c", str(folder / "mosquitto.conf")], port, folder):
        yield f"mqtt://127.0.0.1:{port}"


@contextmanager
def _nats(folder: Path, _: Path | None) -> Iterator[str]:
    program, port = _find("nats-server", "NATS"), free_port()
    with _running([program, "-a", "127.0.0.1", "-p", str(port)], port, folder):
        yield f"nats://127.0.0.1:{port}"


@contextmanager
def _rabbit(folder: Path, _: Path | None) -> Iterator[str]:
    if not _RABBIT.exists():
        raise _missing("RabbitMQ", "AMQP")
    epmd, port, registry = _find("epmd", "AMQP"), free_port(), free_port()
    (folder / "rabbitmq.conf").write_text(_RABBIT_CONF.format(port=port, folder=folder))
    (folder / "plugins").write_text("[rabbitmq_amqp1_0].")
    (folder / "definitions.json").write_text(json.dumps(_rabbit_definitions()))
    environment = {
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(registry),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"headrace{port}@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
    }
    with (
        _running([epmd, "-port", str(registry), "-address", "127.0.0.1"], registry, folder),
        _running([str(_RABBIT)], port, folder, environment),
    ):
        yield f"amqp://127.0.0.1:{port}"


@contextmanager
def _kafka(folder: Path, jars: Path | None) -> Iterator[str]:
    if jars is None:
        raise HeadraceError(
            "KAFKA: name a broker with --server KAFKA=kafka://host:9092, or a folder with the jars of one with "
            "--kafka-jars; scripts/fetch-jars fetches them and prints the folder"
        )
    program, port = _find("java", "KAFKA"), free_port()
    java = [program, "-Xmx512m", "-cp", f"{jars}/*"]
    properties = str(folder / "kafka.properties")
    Path(properties).write_text(_KAFKA_PROPERTIES.format(port=port, controller=free_port(), folder=folder))
    # An id that began with a dash would be taken for an option.
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")
    made = [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", properties]
    subprocess.run(made, check=True, capture_output=True)  # noqa: S603
    with _running([*java, "kafka.Kafka", properties], port, folder):
        yield f"kafka://127.0.0.1:{port}"


_KINDS: dict[str, Callable[[Path, Path | None], AbstractContextManager[str]]] = {
    "KAFKA": _kafka,
    "MQTT3": _mosquitto,
    "MQTT5": _mosquitto,
    "AMQP": _rabbit,
    "NATS": _nats,
}


@contextmanager
def _running(
    command: list[str], port: int, folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server from when it listens to the end, with everything that it started."""
    output = folder / f"{Path(command[0]).name}-{port}.log"
    with output.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603
            command,
            env={**os.environ, **(environment or {})},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_for(process, port, output)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise HeadraceError(f"{output.stem} doesn't start:\n{output.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def _find(program: str, protocol: str) -> str:
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        raise _missing(program, protocol)
    return found


def _missing(program: str, protocol: str) -> HeadraceError:
    return HeadraceError(
        f"{protocol}: {program} isn't installed here (scripts/install-servers does it on Debian); "
        f"name a server with --server {protocol}=URI instead"
    )


def _rabbit_definitions() -> dict[str, object]:
    everything = {"vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    return {
        "users": [{"name": "bench", "password": "bench", "tags": ""}],
        "vhosts": [{"name": "/"}],
        "permissions": [{"user": "bench", **everything}],
        "queues": [{"name": QUEUE, "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}],
    }
