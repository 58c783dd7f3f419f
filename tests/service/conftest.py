"""The whole service as its users run it: `headrace up` in processes of its own."""

import pytest
from tests.api.conftest import open_api  # noqa: F401  a fixture

from headrace.service.processes.service import ServiceProcess, free_port


@pytest.fixture
def make_service(tmp_path):
    """Make services on one data folder and one port; none survives the test."""
    made: list[ServiceProcess] = []
    port = free_port()

    def make(**settings: str) -> ServiceProcess:
        service = ServiceProcess(tmp_path / "data", port, tmp_path / "service.log", settings)
        made.append(service)
        return service

    yield make
    for service in made:
        if service.is_running:
            service.kill()
