"""Log and outbox in Kafka: who sees which events, and what happens when the driver is killed, or workers by an event.

Nothing is lost or doubled, nor is it for a subscription that starts in the past meanwhile.

`tests/cluster` kills the broker, a Spark worker and a dispatcher.
"""

import asyncio
import os
import signal
from collections import Counter
from contextlib import closing

from tests.cluster.judge import Judge
from tests.cluster.load import Load
from tests.pipeline.deadly import make_an_event_deadly
from tests.service.clients import ClientLedger

from headrace.client import Client, Sink
from headrace.eventlog.kafka.outbox.writer import Coverage
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.service.processes.process_table import role_processes

_PARTITIONS = 2


async def everyone_sees_what_was_accepted_while_they_were_there(
    url: str, settings: KafkaSettings, judge: Judge
) -> None:
    """Clients publish, create and delete at the same time; the outbox is compared with what they were told."""
    ledger = ClientLedger(url)
    await ledger.run()
    with closing(KafkaLogReader(settings)) as log, closing(Coverage(settings)) as coverage:
        end = log.end()
        async with asyncio.timeout(120):
            while not end <= coverage.position():
                await asyncio.sleep(0.1)
        batches = [batch for span in LogPosition().ranges_to(end) for batch in log.read(*span)]
    ids = {
        position: id_
        for batch in batches
        for position, id_ in zip(batch["position"].to_pylist(), batch["id"].to_pylist(), strict=True)
    }
    await asyncio.sleep(1)  # until the judge has read it, too
    pairs = judge.pairs.elements()
    ledger.check([(ids[position], each) for position, each in pairs if each in ledger.subscribed])
    async with Client(url) as client:
        for subscription, it in ledger.subscribed.items():
            if it.deleted.began == float("inf"):
                await client.unsubscribe(subscription)


async def all_have_come(load: Load, name: str) -> None:
    """Wait for what was accepted by now; more comes meanwhile."""
    wanted = set(load.accepted)
    async with asyncio.timeout(120):
        while wanted - load.arrived[name].keys():
            await asyncio.sleep(0.1)


async def a_deadly_event_is_set_aside(url: str) -> None:
    """Events of other partitions come all the time; of all of them, the one is found that kills its worker."""
    deadly = Event({"specversion": "1.0", "id": "deadly", "source": "/s", "type": "deadly"})
    async with Client(url) as client, asyncio.timeout(120):
        await client.publish(deadly)
        while not (asides := await client.set_aside()):
            await asyncio.sleep(0.1)
    assert [(each["kind"], each["until"] - each["position"]) for each in asides] == [("event", 1)]
    assert "dies" in asides[0]["reason"]


async def test_the_driver_is_killed_under_load(make_service, broker, capsys, tmp_path, monkeypatch):
    make_an_event_deadly(tmp_path / "site", monkeypatch)
    service = make_service(
        LOG_KIND="kafka",
        KAFKA_BOOTSTRAP=broker.bootstrap,
        KAFKA_TOPICS='["faults"]',
        KAFKA_OUTBOX="faults-outbox",
        KAFKA_PARTITIONS=str(_PARTITIONS),
        PIPELINE_MASTER="local[2]",
        PIPELINE_MAX_EVENTS_PER_BATCH="64",  # an event that kills is found in two steps rather than four
        PIPELINE_RESTART_SECONDS="0.1",
    )
    service.start()
    await service.wait_until_ready(240)
    load = Load(service.url, ["all"])
    settings = KafkaSettings(broker.bootstrap, ("faults",), "faults-outbox", _PARTITIONS, 1, 10.0, ())
    with Judge(broker.bootstrap, "faults-outbox", _PARTITIONS) as judge:
        await everyone_sees_what_was_accepted_while_they_were_there(service.url, settings, judge)
        async with Sink(load.received) as sink:
            async with Client(service.url) as client:
                await load.subscribe(client, sink.url)
            load.start()
            await load.goes_on(50)
            (driver,) = role_processes(service.pid, "pipeline")
            os.kill(driver, signal.SIGKILL)
            await asyncio.sleep(2)
            await service.wait_until_ready(300)
            await load.goes_on(50)
            async with Client(service.url) as client:
                load.arrived["late"] = Counter()
                ours = {"prefix": {"type": "kill."}}
                wish = {"sink": f"{sink.url}/late", "filters": [ours], "config": {"start": {"filter": ours}}}
                made = await client.subscribe(wish)
            await load.goes_on(50)
            await all_have_come(load, "late")
            await a_deadly_event_is_set_aside(service.url)
            await load.goes_on(50)
            await load.finish()
            await all_have_come(load, "late")
            async with Client(service.url) as client:
                (job,) = await client.jobs(kind="catch-up", subscription=made["id"])
                past = (await client.finished(job))["found"]
    assert service.stop() == 0, service.tail()
    with capsys.disabled():
        print(f"\ndriver killed: {load.figures()}, {judge.figures()}")  # noqa: T201  what this test shows
    present = sum(subscription == made["id"] for _, subscription in judge.pairs)
    assert past + present == len(load.arrived.pop("late")), "nothing is on both sides of the seam"
    assert past > 0 < present
    judge.check(load)
