"""A subscription without a sink, and its mailbox, filled as the pipeline and the dispatcher would."""

import time

import msgspec
from tests.api.application import BATCHED, CHANNEL

from headrace.database.database import Database
from headrace.ledger.ledger import Ledger


class Consumers:
    def __init__(self, api, subscription):
        self.api = api
        self.id = subscription
        self.path = f"/api/subscriptions/{subscription}/events"
        self._ledger = Ledger(Database(api.delivery_url))

    def close(self):
        self._ledger.database.close()

    async def publish(self, *numbers, version="1.0", size=0, **members):
        events = [
            {"specversion": version, "id": str(each), "source": "/s", "type": "t", "data": "x" * size}
            | members
            for each in numbers
        ]
        first = self.api.writer.end
        assert (await self.api.post(BATCHED, msgspec.json.encode(events), CHANNEL)).status == 202
        self.mail(*range(first, self.api.writer.end))

    def mail(self, *positions, replay=""):
        self._ledger.put_mail(
            [
                {
                    "subscription": self.id,
                    "replay": replay,
                    "position": each,
                    "time": time.time(),
                    "event": None,
                }
                for each in positions
            ]
        )

    async def poll(self, query="", headers=()):
        return await self.api.call("GET", f"{self.path}{query}", headers)

    async def ack(self, **said):
        return await self.api.send_json("POST", f"/api/subscriptions/{self.id}/ack", said)

    @property
    def waiting(self):
        return self.api.leases.fill(self.id).waiting


async def subscribe(api, **members):
    made = await api.send_json("POST", "/subscriptions", {"protocol": "PULL"} | members)
    assert made.status == 201, made.body
    return made.json["id"]
