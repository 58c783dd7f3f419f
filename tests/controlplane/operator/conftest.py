import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.api.role import HttpRole
from tests.controlplane.operator.fake_apiserver import FakeApiServer
from tests.controlplane.operator.kube import cluster_of, documents, install, write_kubeconfig
from tests.controlplane.operator.real_apiserver import OPERATOR, RealApiServer, programs

from headrace.service.process import free_port


@pytest.fixture(scope="session", params=["real", "fake"])
def kube(request, tmp_path_factory):
    """An API server with everything of `deploy/knative` in it; the test's name says whether it is a real one."""
    folder = tmp_path_factory.mktemp("kube")
    if request.param == "fake":
        server = FakeApiServer(folder)
    elif (binaries := programs()) is None:
        pytest.skip("no Kubernetes API server here (scripts/build-kube-apiserver builds one, in minutes)")
    else:
        server = RealApiServer(binaries, folder)
    server.start()
    try:
        asyncio.run(install(cluster_of(server), [each for each in documents() if not _is_webhook(each)]))
        yield server
    finally:
        server.stop()


def _is_webhook(document):
    """The web-hook has no Service to be called by: tests register it with an address."""
    return document["kind"] == "ValidatingWebhookConfiguration"


@pytest.fixture
def cluster(kube):
    return cluster_of(kube)


@pytest.fixture(scope="session")
def headrace(kube, tmp_path_factory):
    """The real http role, whose control API the operator calls."""
    with HttpRole(tmp_path_factory.mktemp("headrace") / "data") as role:
        yield role


class OperatorProcess:
    """`headrace operator`, as it runs in its pod, with the rights of its service account."""

    def __init__(self, kube, headrace, folder: Path, *arguments: str) -> None:
        self._command = [
            str(Path(sys.executable).parent / "headrace"), "operator", "--url", headrace.url, "--look-every", "1", *arguments,
        ]  # fmt: skip
        self._environment = {**os.environ, "KUBECONFIG": str(write_kubeconfig(kube, folder, OPERATOR))}
        self._log = folder / "operator.log"
        self.start()

    @property
    def output(self) -> str:
        return self._log.read_text()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def run_operator(kube, headrace, tmp_path):
    """Start an operator; it is stopped when the test ends."""
    started = []

    def run(*arguments):
        started.append(OperatorProcess(kube, headrace, tmp_path, *(arguments or ("--webhook-port", "0"))))
        return started[-1]

    yield run
    for operator in started:
        if operator.process.poll() is None:
            assert operator.stop() == 0, operator.output


@pytest.fixture
def operator(run_operator):
    return run_operator()


async def until(look, seconds=60.0):
    """Wait until a look returns something true, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(KeyError, TypeError):
            if found := await look():
                return found
        assert time.monotonic() < deadline, f"after {seconds} s: {await look()!r}"
        await asyncio.sleep(0.05)


@pytest.fixture
def eventually():
    return until


@pytest.fixture
def webhook_port():
    return free_port()
