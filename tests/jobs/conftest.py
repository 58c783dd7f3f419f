import pytest

from headrace.jobs.jobs import Jobs


@pytest.fixture
def jobs(database_url):
    made = Jobs(database_url)
    yield made
    made.close()
