"""A real RabbitMQ with AMQP 1.0 as a child process, in a folder of its own; it may be killed and comes back.

It has the durable queues `/amq/queue/q0` and so on, which keep what they accepted. Everyone may come in: without a name,
or as `alice`, with the password `s3cret`. `secure_port` speaks TLS.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
import trustme

from headrace.service.processes.service import free_port

QUEUES = 100
_LIBRARY = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one in the PATH becomes another user
_CONFIG = """
listeners.tcp.1 = 127.0.0.1:{port}
listeners.ssl.1 = 127.0.0.1:{secure_port}
ssl_options.cacertfile = {folder}/ca.pem
ssl_options.certfile = {folder}/server.pem
ssl_options.keyfile = {folder}/server.key
ssl_options.verify = verify_none
loopback_users = none
load_definitions = {folder}/definitions.json
amqp1_0.default_user = alice
disk_free_limit.absolute = 1MB
"""


def find_programs() -> tuple[str, str]:
    """Find the server and Erlang's registry of nodes, or skip the test where they aren't installed."""
    epmd = shutil.which("epmd")
    if not _LIBRARY.exists() or epmd is None:
        pytest.skip("no AMQP server here (scripts/install-servers; Debian: apt-get install rabbitmq-server)")
    return str(_LIBRARY), epmd


class RabbitServer:
    """One node with a registry of its own, so that no other node of this machine is met."""

    def __init__(self, folder: Path) -> None:
        self._program, self._epmd = find_programs()
        self._folder = folder
        self.port, self.secure_port = free_port(), free_port()
        self.ca_file = str(folder / "ca.pem")
        self._write_certificates()
        (folder / "rabbitmq.conf").write_text(
            _CONFIG.format(port=self.port, secure_port=self.secure_port, folder=folder)
        )
        (folder / "plugins").write_text("[rabbitmq_amqp1_0].")
        (folder / "definitions.json").write_text(json.dumps(_definitions()))
        registry, distribution = free_port(), free_port()
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(registry),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"headrace{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        }
        self._starts = 0
        self._registry = subprocess.Popen(
            [self._epmd, "-port", str(registry), "-address", "127.0.0.1"], start_new_session=True
        )

    def start(self) -> None:
        self._starts += 1
        with (self._folder / "rabbit.log").open("ab") as output:
            self._process = subprocess.Popen(
                [self._program],
                env=self._environment,
                cwd=self._folder,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        deadline = time.monotonic() + 120
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "rabbit.log").read_text()[-3000:]
            assert time.monotonic() < deadline, "RabbitMQ doesn't start"
            time.sleep(0.1)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()  # this is the script around the node
        deadline = time.monotonic() + 20
        while self._listens():
            assert time.monotonic() < deadline, "RabbitMQ doesn't die"
            time.sleep(0.01)

    def close(self) -> None:
        self.kill()
        self._registry.kill()
        self._registry.wait()

    def _answers(self) -> bool:
        complete = (self._folder / "rabbit.log").read_text().count("Server startup complete")
        return complete == self._starts and self._listens()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def _write_certificates(self) -> None:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.ca_file)
        issued = authority.issue_cert("localhost", "127.0.0.1")
        issued.private_key_pem.write_to_path(self._folder / "server.key")
        for number, part in enumerate(issued.cert_chain_pems):
            part.write_to_path(self._folder / "server.pem", append=number > 0)


def _definitions() -> dict[str, object]:
    users = ("alice", "Bearer")
    everything = {"vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    queue = {"vhost": "/", "durable": True, "auto_delete": False}
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    return {
        "users": [{"name": name, "password": "s3cret", "tags": ""} for name in users],
        "vhosts": [{"name": "/"}],
        "permissions": [{"user": name, **everything} for name in users],
        "queues": [
            *({"name": f"q{number}", "arguments": {}, **queue} for number in range(QUEUES)),
            {"name": "full", "arguments": full, **queue},
        ],
    }
