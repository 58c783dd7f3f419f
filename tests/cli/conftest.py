import logging
import os

import msgspec
import pytest
from click.testing import CliRunner
from tests.api.role import HttpRole

from headrace.cli.main import main
from headrace.eventlog.local.reader import SegmentReader
from headrace.events.batch import from_batch


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch, tmp_path):
    for variable in os.environ:
        if variable.startswith("HEADRACE_"):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def logs_as_before(monkeypatch):
    """Commands that stay configure the logs of their process, which here is that of all tests."""
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)


@pytest.fixture
def run():
    """Run a command; return the result with standard output and standard error apart."""

    def run(*arguments, input=None, env=None):  # noqa: A002
        return CliRunner().invoke(main, list(map(str, arguments)), input=input, env=env)

    return run


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """The real http role; nothing is routed, so commands see only what they did."""
    with HttpRole(tmp_path_factory.mktemp("cli") / "data") as role:
        yield role


@pytest.fixture
def logged(service):
    """Tell which events came into the log since the test began."""
    reader = SegmentReader(service.data / "log")
    start = reader.end()[0]

    def logged():
        return [each for batch in reader.read(start, reader.end()[0]) for each in from_batch(batch)]

    return logged


@pytest.fixture
def subscribed(run, service):
    """Make a subscription by command, and return it as the service shows it."""

    def subscribed(*arguments):
        result = run("subscribe", "--url", service.url, "--json", *arguments)
        assert result.exit_code == 0, result.output
        return msgspec.json.decode(result.stdout)

    return subscribed
