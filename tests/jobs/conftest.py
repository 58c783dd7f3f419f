import pytest
from tests.subscriptions.stores import memory_url

from headrace.jobs.jobs import Jobs


@pytest.fixture
def jobs():
    with memory_url() as url:
        made = Jobs(url)
        yield made
        made.close()
