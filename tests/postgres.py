"""A PostgreSQL server of its own for the tests: the real one, from the machine's package."""

import os
import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from headrace.service.processes.service import free_port

_VERSIONS = Path("/usr/lib/postgresql")
_USER = "postgres"  # the server refuses to run as root
_numbers = count()
# Clears up when its input ends, however the tests ended: a run that is killed leaves nothing behind.
_CLEAR_UP = """
cat > /dev/null
read -r server < data/postmaster.pid && kill -QUIT "$server"
while kill -0 "$server" 2> /dev/null; do sleep 0.05; done
rm -rf "$PWD"
"""


def programs() -> Path | None:
    """The folder of the newest server that is installed here."""
    found = sorted(_VERSIONS.glob("*/bin/postgres"), key=lambda each: float(each.parts[-3]))
    return found[-1].parent if found else None


class Postgres:
    """One server on a folder in memory. It may be killed and started again; its databases stay."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        shared = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-postgres-", dir=shared))
        self._user = pwd.getpwnam(_USER) if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self.port = free_port()
        self._clearing = subprocess.Popen(
            ["sh", "-c", _CLEAR_UP], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self._folder
        )
        # A collation that isn't that of bytes, as many servers have it: orders must not depend on it.
        collation = ["--locale-provider=icu", "--icu-locale=en"]
        self._run("initdb", "--no-sync", "--auth=trust", "--username=headrace", *collation)

    def start(self) -> None:
        # Nobody cuts the power of a test: what the kernel has is safe from SIGKILL.
        settings = {"fsync": "off", "unix_socket_directories": str(self._folder), "port": str(self.port)}
        command = [str(self._binaries / "postgres"), *(f"--{key}={value}" for key, value in settings.items())]
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, **self._as_user())
        deadline = time.monotonic() + 30
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "output").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL the server and all of its processes, as a machine that fails would end them."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def remove(self) -> None:
        if self._process.poll() is None:
            self.kill()
        self._clearing.communicate(timeout=30)

    @contextmanager
    def new_url(self) -> Iterator[str]:
        """The address of a new, empty schema: as good as a database of its own, and made at once."""
        schema = f"test_{os.getpid()}_{next(_numbers)}"
        self._sql(f"CREATE SCHEMA {schema}")
        yield self.url(schema)
        self._sql(f"DROP SCHEMA {schema} CASCADE")

    def url(self, schema: str = "public") -> str:
        options = f"host=127.0.0.1&port={self.port}&options=-csearch_path%3D{schema}"
        return f"postgresql+psycopg://headrace@/postgres?{options}"

    def _answers(self) -> bool:
        try:
            self._sql("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _sql(self, statement: str) -> None:
        address = f"host=127.0.0.1 port={self.port} user=headrace dbname=postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(statement)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, **self._as_user())

    def _as_user(self) -> dict[str, Any]:
        environment = {"PGDATA": str(self._folder / "data"), "PATH": "/usr/bin:/bin", "TZ": "UTC"}
        own = {"user": self._user.pw_uid, "group": self._user.pw_gid} if os.getuid() == 0 else {}
        return {"env": environment, "cwd": self._folder, "start_new_session": True, **own}
