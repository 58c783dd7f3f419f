"""What the dispatcher tells of the sinks, as the API reads it."""

from tests.delivery.harness import eventually, sample
from tests.delivery.raw_sink import RawSink, answer


async def test_success_failure_and_breaker_are_told(harness, sink):
    async with RawSink(lambda _: answer(503, b"not today")) as broken:
        live, dead = harness.subscribe(sink.url), harness.subscribe(broken.url)
        async with harness.delivering(retries=50, breaker_failures=2, breaker_seconds=60.0):
            harness.send([sample(1)], live, dead)
            await eventually(lambda: len(broken.requests) >= 2 and bool(sink.requests))
        told = {id_: status.document() for id_, status in harness.records.statuses().items()}
    assert "lastSuccess" in told[live]
    assert told[live]["breaker"] == {"state": "closed"}
    assert "lastError" not in told[live]
    assert told[dead]["lastError"]["status"] == 503
    assert "not today" in told[dead]["lastError"]["reason"]
    assert told[dead]["breaker"]["state"] == "open"
    assert told[dead]["waiting"] == 1
