"""A real Mosquitto as a child process, in a folder of its own; it may be killed and comes back.

Sessions that it was told to save outlive it. Who gives no name may write below `open/`;
whoever gives one has to know the password. `secure_port` speaks TLS.
"""

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

_CONFIG = """
allow_anonymous true
acl_file {folder}/acl
password_file {folder}/passwords
max_packet_size 1500000
max_inflight_messages 0
max_queued_messages 10000
persistence true
persistence_location {folder}/
autosave_interval 0
queue_qos0_messages true
{more}
listener {port} 127.0.0.1

listener {secure_port} 127.0.0.1
certfile {folder}/server.pem
keyfile {folder}/server.key
"""
# Patterns hold for sessions that were restored too, whose user Mosquitto doesn't know.
_ACL = """
pattern readwrite open/#
pattern read shut/#
user alice
topic readwrite #
user Bearer
topic readwrite #
"""


def find_program(name: str = "mosquitto") -> str:
    """Find a program of the server, or skip the test where it isn't installed."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        pytest.skip("no MQTT server here (scripts/install-servers; Debian: apt-get install mosquitto)")
    return found


class MosquittoServer:
    """`more` is added to its configuration. `ca_file` is whom its TLS is to be trusted by."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self._program = find_program()
        self._folder = folder
        self.port, self.secure_port = free_port(), free_port()
        self.ca_file = str(folder / "ca.pem")
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.ca_file)
        issued = authority.issue_cert("localhost", "127.0.0.1")
        issued.private_key_pem.write_to_path(folder / "server.key")
        for number, part in enumerate(issued.cert_chain_pems):
            part.write_to_path(folder / "server.pem", append=number > 0)
        (folder / "acl").write_text(_ACL)
        (folder / "passwords").touch(0o600)
        tool = find_program("mosquitto_passwd")
        for user in ("alice", "Bearer"):
            subprocess.run([tool, "-b", str(folder / "passwords"), user, "s3cret"], check=True)
        self._file = folder / "mosquitto.conf"
        if os.geteuid() == 0:
            more += "\nuser root"  # else it becomes a user that can't read this folder
        self._file.write_text(
            _CONFIG.format(port=self.port, secure_port=self.secure_port, folder=folder, more=more)
        )

    def start(self) -> None:
        with (self._folder / "mosquitto.log").open("ab") as output:
            self._process = subprocess.Popen(
                [self._program, "-c", str(self._file)], stdout=output, stderr=output, start_new_session=True
            )
        deadline = time.monotonic() + 30
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.secure_port), 1):
                return
            assert self._process.poll() is None, (self._folder / "mosquitto.log").read_text()[-2000:]
            assert time.monotonic() < deadline, "Mosquitto doesn't start"
            time.sleep(0.02)

    def save(self) -> None:
        """Write down which sessions there are; at each change it would be slow."""
        log, said = self._folder / "mosquitto.log", "Saving in-memory database"
        before, deadline = log.read_text().count(said), time.monotonic() + 20
        os.kill(self._process.pid, signal.SIGUSR1)
        while log.read_text().count(said) == before:
            assert time.monotonic() < deadline, "Mosquitto doesn't save"
            time.sleep(0.01)

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
