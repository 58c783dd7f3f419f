"""Log and outbox in Kafka: the driver is killed under load, and nothing is lost or doubled.

`tests/cluster` kills the broker, a Spark worker and a dispatcher.
"""

import asyncio
import os
import signal

from tests.cluster.judge import Judge
from tests.cluster.load import Load

from headrace.client import Client, Sink
from headrace.service.processes import role_processes

_PARTITIONS = 2


async def test_the_driver_is_killed_under_load(make_service, broker, capsys):
    service = make_service(
        LOG_KIND="kafka",
        KAFKA_BOOTSTRAP=broker.bootstrap,
        KAFKA_TOPICS='["faults"]',
        KAFKA_OUTBOX="faults-outbox",
        KAFKA_PARTITIONS=str(_PARTITIONS),
        PIPELINE_MASTER="local[2]",
    )
    service.start()
    await service.wait_until_ready(240)
    load = Load(service.url, ["all"])
    with Judge(broker.bootstrap, "faults-outbox", _PARTITIONS) as judge:
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
            await load.finish()
    assert service.stop() == 0, service.tail()
    with capsys.disabled():
        print(f"\ndriver killed: {load.figures()}, {judge.figures()}")  # noqa: T201  what this test shows
    judge.check(load)
