import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from tests.api.role import HttpRole
from tests.controlplane.operator.fake_apiserver import FakeApiServer
from tests.controlplane.operator.kube import cluster_of, documents, install, write_kubeconfig
from tests.controlplane.operator.real_apiserver import OPERATOR, RealApiServer, programs

from headrace.service.processes.service import free_port

REVIEWED = "reviewed"
_BEGUN = "Initial authentication has been initiated"
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TRIGGERS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "triggers.eventing.knative.dev"},
    "spec": {
        "group": "eventing.knative.dev",
        "scope": "Namespaced",
        "names": {
            "kind": "Trigger",
            "plural": "triggers",
            "singular": "trigger",
            "shortNames": [],
            "categories": [],
        },
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _ANYTHING}}
        ],
    },
}
"""Knative's own definition of triggers, as far as a webhook for them needs one."""


@pytest.fixture(scope="session", params=["real", "fake"])
def kube(request, tmp_path_factory):
    """An API server with everything of `deploy/knative` in it; the test's name says whether it is a real one."""
    folder = tmp_path_factory.mktemp("kube")
    server: RealApiServer | FakeApiServer
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
    """The webhook has no Service to be called by: tests register it with an address."""
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

    made: ClassVar[list["OperatorProcess"]] = []

    def __init__(self, kube, headrace, folder: Path, *arguments: str) -> None:
        self._command = [
            str(Path(sys.executable).parent / "headrace"), "operator", "--url", headrace.url, "--look-every", "1", *arguments,
        ]  # fmt: skip
        self._environment = {**os.environ, "KUBECONFIG": str(write_kubeconfig(kube, folder, OPERATOR))}
        self._log = folder / "operator.log"
        self.start()
        self.made.append(self)

    @property
    def output(self) -> str:
        return self._log.read_text()

    def start(self) -> None:
        """Start it, and wait until it has begun to work: before, a signal would end it as any process."""
        with self._log.open("ab") as log:
            before = self.output.count(_BEGUN)
            self.process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)
        while self.output.count(_BEGUN) == before:
            assert self.process.poll() is None, self.output
            time.sleep(0.05)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextlib.contextmanager
def operators_at_rest():
    """Let none of the operators that other tests have started look at anything meanwhile."""
    resting = [each for each in OperatorProcess.made if each.process.poll() is None]
    for each in resting:
        each.kill()
    yield
    for each in resting:
        each.start()


@pytest.fixture(scope="session")
def operator(kube, headrace, tmp_path_factory):
    """One operator for all tests, without its webhook; who kills it starts it again."""
    running = OperatorProcess(kube, headrace, tmp_path_factory.mktemp("operator"), "--webhook-port", "0")
    yield running
    assert running.stop() == 0, running.output


@pytest.fixture(scope="session")
def reviewed(kube, headrace, tmp_path_factory):
    """An operator with its webhook, which the API server asks about channels and triggers until the tests end."""
    port, folder = free_port(), tmp_path_factory.mktemp("webhook")
    [configuration] = documents("600-webhook.yaml")
    for hook in configuration["webhooks"]:
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}/validate"}
        hook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": REVIEWED}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": REVIEWED}}
    asyncio.run(install(cluster_of(kube), [namespace, configuration, TRIGGERS]))
    arguments = (
        "--namespace",
        REVIEWED,
        "--webhook-host",
        "127.0.0.1",
        "--webhook-port",
        str(port),
        "--webhook-name",
        "127.0.0.1",
    )
    running = OperatorProcess(kube, headrace, folder, *arguments)
    while "the webhook listens" not in running.output:
        assert running.process.poll() is None, running.output
        time.sleep(0.05)
    yield running
    assert running.stop() == 0, running.output


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
