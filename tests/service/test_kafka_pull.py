"""Pulling from a log in Kafka: the roles that serve and that deliver, as processes, and a restart between.

Spark's part is played by the test: it plans a delivery of every event, as the route does.
"""

import json
import urllib.request
import uuid
from contextlib import closing, contextmanager

import pyarrow as pa
from tests.api.role import HttpRole

from headrace.eventlog.kafka.outbox.writer import KafkaOutboxWriter
from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.location import kafka_location, open_log

_PARTITIONS = 2


class Deployment:
    def __init__(self, data, broker):
        name = uuid.uuid4().hex[:8]
        self.kafka = KafkaSettings(
            broker.bootstrap, (f"pull-{name}",), f"outbox-{name}", _PARTITIONS, 1, 10.0, ()
        )
        given = {
            f"kafka__{each}": getattr(self.kafka, each)
            for each in ("bootstrap", "outbox", "partitions", "replicas")
        }
        given |= {"log__kind": "kafka", "kafka__topics": list(self.kafka.topics)}
        self.http = HttpRole(data, **given)
        self.dispatcher = HttpRole(data, "dispatcher", **given)

    @contextmanager
    def running(self):
        """Run both roles, and stop them as an operator does: what was delivered is settled then."""
        with self.http:
            self.dispatcher.start()
            try:
                yield
                assert (self.dispatcher.stop(), self.http.stop()) == (0, 0), self.dispatcher.output
            finally:
                self.dispatcher.__exit__()

    def call(self, method, path, document=None, **headers):
        body = None if document is None else json.dumps(document).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.http.url + path, body, named, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null"), answer.headers

    def publish(self, *ids):
        events = [{"specversion": "1.0", "id": each, "source": "/s", "type": "t"} for each in ids]
        batch = "application/cloudevents-batch+json"
        self.call("POST", "/channels/default/default", events, content_type=batch)

    def plan(self, subscription):
        log = open_log(kafka_location(self.kafka))
        with closing(KafkaOutboxWriter(self.kafka, log.start())) as outbox:
            start, end = outbox.covered(), log.end()
            batches = [batch for each in start.ranges_to(end) for batch in log.read(*each)]
            positions = [each for batch in batches for each in batch["position"].to_pylist()]
            rows = {"position": positions, "subscription": [subscription] * len(positions)}
            assert outbox.write(start, end, pa.table(rows)) == len(positions)

    def pull(self, subscription, most, cursor=None):
        """Wait until so many have come; return their ids and the cursor."""
        ids: list[str] = []
        while len(ids) < most:
            query = f"?max={most - len(ids)}&wait=30" + (f"&cursor={cursor}" if cursor else "")
            found, headers = self.call("GET", f"/api/subscriptions/{subscription}/events{query}")
            assert found is not None, (ids, self.dispatcher.output)
            ids += [each["id"] for each in found]
            cursor = headers["headrace-cursor"]
        return ids, cursor


def test_a_consumer_goes_on_from_its_cursor_after_a_restart(tmp_path, broker):
    deployment, json_type = Deployment(tmp_path, broker), {"content_type": "application/json"}
    with deployment.running():
        made, _ = deployment.call("POST", "/subscriptions", {"protocol": "PULL"}, **json_type)
        subscription = made["id"]
        deployment.publish("1", "2", "3", "4")
        deployment.plan(subscription)
        first, cursor = deployment.pull(subscription, 2)
        held, _ = deployment.pull(subscription, 1)  # by another consumer, which dies with the service
        told, _ = deployment.call(
            "POST", f"/api/subscriptions/{subscription}/ack", {"upTo": cursor}, **json_type
        )
        assert told == {"acknowledged": 2}
    with deployment.running():
        deployment.publish("5", "6")
        deployment.plan(subscription)
        then, cursor = deployment.pull(subscription, 3, cursor)
        assert sorted([*first, *held, *then]) == ["1", "2", "3", "4", "5", "6"]
        deployment.call("POST", f"/api/subscriptions/{subscription}/ack", {"upTo": cursor}, **json_type)
        shown, _ = deployment.call("GET", f"/subscriptions/{subscription}")
        assert shown["status"]["delivery"]["pull"]["waiting"] == 1, (
            "what the other consumer holds waits for its lease"
        )
