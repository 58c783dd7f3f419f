import pytest
from tests.delivery.office import Office
from tests.delivery.raw_sink import RawSink


@pytest.fixture
def office(tmp_path, database_url):
    office = Office(tmp_path, database_url)
    yield office
    office.close()


@pytest.fixture
async def sink():
    async with RawSink() as sink:
        yield sink
