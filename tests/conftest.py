"""What all tests share: hypothesis without a deadline, since CI machines pause when they like, and databases."""

import os
from contextlib import contextmanager

import pytest
from hypothesis import settings
from tests.broker import Broker
from tests.postgres import Postgres, programs
from tests.subscriptions.stores import memory_url

from headrace.matching.warm_up import warm_up

settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")

# Their tests start services and wait for them: begun first, they don't keep one core waiting for the other at the end.
_LONG = ("service", "pipeline", "docs", "cluster", "delivery", "eventlog")


def pytest_configure(config):
    """Compile the matcher's kernels before the workers start, or each of them and of their services would."""
    if getattr(config.option, "numprocesses", None):
        warm_up()


def pytest_xdist_auto_num_workers():
    """Run one more than there are cores: tests of real services mostly wait for them."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not any(folder in item.path.parts for folder in _LONG))


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
