import pytest

from headrace.database.database import Database
from headrace.jobs.jobs import Jobs


@pytest.fixture
def jobs(database_url):
    made = Jobs(Database(database_url))
    yield made
    made.database.close()
