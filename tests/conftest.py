"""What all tests share: which of them `make test` runs, hypothesis without a deadline, and servers."""

import os

# Kernels of this process check every load and store; the processes that it starts run them as in production.
_MODE = "HEADRACE_CHECKED_KERNELS"
_IS_GIVEN = _MODE in os.environ
os.environ.setdefault(_MODE, "1")

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from tests.broker import Broker
from tests.postgres import Postgres, programs
from tests.subscriptions.stores import memory_url

from headrace.matching.warm_up import warm_up
from headrace.telemetry.health import HEALTH, Status

if not _IS_GIVEN:
    del os.environ[_MODE]

settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")

# `make test` leaves out what starts Spark, a server, or the service as several processes, and what takes minutes.
_SERVERS = frozenset(
    (
        "broker",
        "kube",
        "mosquitto",
        "nats_server",
        "postgres",
        "rabbit",
        "secured_broker",
        "spark",
        "terminals",
    )
)
_EXTENDED = (
    "api/openapi/test_schemathesis.py",
    "api/test_standstill.py",
    "bench",
    "chaos",
    "cluster",
    "controlplane/operator",
    "delivery/test_backlog.py",
    "delivery/test_chaos.py",
    "delivery/test_killed.py",
    "docs/test_commands.py",
    "docs/test_deployment.py",
    "filters/backends/spark",
    "pipeline/history",
    "pipeline/route",
    "pipeline/spark",
    "service",
)
_TESTS = Path(__file__).parent

# Their tests start services and wait for them: begun first, they don't keep one core waiting for the other at the end.
_LONG = ("chaos", "service", "pipeline", "docs", "cluster", "delivery", "eventlog")


def pytest_configure(config):
    """Compile the matcher's kernels before the workers start, or each of them and of their services would."""
    if getattr(config.option, "numprocesses", None):
        warm_up()
        subprocess.run([sys.executable, "-m", "headrace.matching.warm_up"], check=True)


def pytest_xdist_auto_num_workers():
    """Run one more than there are cores: tests of real services mostly wait for them."""
    return (os.cpu_count() or 1) + 1


def _is_extended(item):
    path, parameters = item.path.relative_to(_TESTS).as_posix(), getattr(item, "callspec", None)
    return (
        any(path == each or path.startswith(f"{each}/") for each in _EXTENDED)
        or not _SERVERS.isdisjoint(item.fixturenames)
        or (parameters is not None and "postgresql" in parameters.params.values())
    )


def pytest_collection_modifyitems(items):
    for item in items:
        if _is_extended(item):
            item.add_marker("extended")
    items.sort(key=lambda item: not any(folder in item.path.parts for folder in _LONG))


@pytest.fixture(autouse=True)
def blocked_no_longer():
    """Forget what a test left as blocked: the register of health is the process's, and so that of all tests."""
    before = HEALTH.reports()
    yield
    for part, report in HEALTH.reports().items():
        if report.status is Status.BLOCKED and part not in before:
            HEALTH.forget(part)


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A real Kafka broker, shared by all tests; who kills it starts it again."""
    running = Broker(tmp_path_factory.mktemp("kafka"))
    running.start()
    yield running
    running.kill()


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server, shared by all tests; who kills it starts it again."""
    binaries = programs()
    if binaries is None:
        pytest.skip("no PostgreSQL server here (Debian: apt-get install postgresql)")
    server = Postgres(binaries)
    server.start()
    yield server
    server.remove()


@contextmanager
def new_database(request):
    """The address of a new database of the kind that the fixture's parameter names."""
    made = request.getfixturevalue("postgres").new_url() if request.param == "postgresql" else memory_url()
    with made as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request):
    """The address of a new database, once of each kind."""
    with new_database(request) as url:
        yield url
