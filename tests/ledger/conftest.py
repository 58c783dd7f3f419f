from contextlib import closing

import pytest

from headrace.ledger.records.records import Records


@pytest.fixture
def records(database_url):
    with closing(Records(database_url)) as opened:
        yield opened
