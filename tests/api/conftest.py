import pytest
from tests.api.application import Application


@pytest.fixture
async def open_api(tmp_path):
    """Make an application with the settings the test wants."""
    handlers: list[Application] = []

    def make(**settings):
        handlers.append(Application(tmp_path / str(len(handlers)), **settings))
        return handlers[-1]

    yield make
    for api in handlers:
        await api.close()


@pytest.fixture
async def api(open_api):
    return open_api()
