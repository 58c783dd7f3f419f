import pytest
from tests.opening import opening

from headrace.ledger.records.records import Records


@pytest.fixture
def records(database_url):
    with opening(Records, database_url) as opened:
        yield opened
