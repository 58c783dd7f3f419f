from contextlib import closing

import pytest
from tests.api.application import Application

from headrace.controlplane.deployment import Deployment
from headrace.controlplane.plane import ControlPlane
from headrace.controlplane.registry import Registry
from headrace.database.database import Database
from headrace.events.positions import LogPosition
from headrace.subscriptions.store.store import Store


class Plant:
    """A control plane over a real store. `end` is where the log ends."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self.store, self.registry, self.end = Store(self._database), Registry(self._database), 0
        self.deployment = Deployment(
            self.store, self.registry, lambda: LogPosition.at(self.end), "http://headrace.example"
        )
        self.plane = ControlPlane(self.deployment)

    def apply(self, *documents, **how):
        return self.plane.apply(documents, **how)

    def outcomes(self, *documents, **how):
        return [each.outcome for each in self.apply(*documents, **how)]

    def close(self):
        self._database.close()


@pytest.fixture
def plant(database_url):
    with closing(Plant(database_url)) as made:
        yield made


@pytest.fixture
async def api(tmp_path):
    made = Application(tmp_path)
    yield made
    await made.close()
