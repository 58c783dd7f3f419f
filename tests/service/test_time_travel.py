"""Time travel as users see it, on one real service: starts, seeks, backtests and replays, and a power cut in one."""

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager

import msgspec
import pytest
from click.testing import CliRunner
from tests.opening import opening

from headrace.cli.main import main
from headrace.client import Client, Sink
from headrace.errors import JobFailed
from headrace.events.event import Event
from headrace.filters import message
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.service.processes.service import ServiceProcess, free_port

MARK = "headracereplay"
ROWS = 400
_PATIENCE = 240


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("travel")
    quick = dict.fromkeys(("DELIVERY_BACKOFF_MAX_SECONDS", "DELIVERY_BREAKER_MAX_SECONDS"), "0.5")
    made = ServiceProcess(
        folder / "data", free_port(), folder / "service.log", quick | {"DELIVERY_BREAKER_SECONDS": "0.1"}
    )
    made.start()
    try:
        asyncio.run(made.wait_until_ready(_PATIENCE))
        yield made
    finally:
        made.kill()


@pytest.fixture
async def client(service):
    async with Client(service.url) as client:
        yield client


def change(number: int, table: str = "orders") -> Event:
    """A row of a binlog: its GTID counts transactions, its TSO is time and counter in one number."""
    attributes = {
        "specversion": "1.0",
        "id": str(number),
        "source": f"/mysql/{table}",
        "datacontenttype": "application/json",
        "type": "row.update" if number % 2 else "row.insert",
        "gtid": f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}",
        "tso": str(441_000_000 + 10 * number),
    }
    return Event(attributes, msgspec.json.encode({"table": table, "amount": number}))


@pytest.fixture(scope="module")
def binlog(service):
    """A channel with a history of its own, made once."""

    async def publish() -> None:
        async with Client(service.url) as client:
            await client.create_channel("mysql", "binlog")
            for start in range(0, ROWS, 100):
                await client.publish_batch([change(n) for n in range(start, start + 100)], "mysql/binlog")

    asyncio.run(publish())
    return "mysql/binlog"


class Arrived:
    """What a sink got, by path."""

    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = {}
        self.refuses: set[str] = set()
        self.refused: Counter[str] = Counter()

    def take(self, received) -> int | None:
        path = received.path.strip("/")
        if path in self.refuses:
            self.refused[path] += 1
            return 503
        self.events.setdefault(path, []).append(received.event)
        return None

    def counts(self, path: str) -> Counter[int]:
        return Counter(int(event.id) for event in self.events.get(path, []))

    async def until(self, path: str, count: int, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while len(self.counts(path)) < count:
            assert time.monotonic() < deadline, f"{len(self.counts(path))} of {count} events came"
            await asyncio.sleep(0.02)


@asynccontextmanager
async def receiving():
    arrived = Arrived()
    async with Sink(arrived.take) as sink:
        yield arrived, sink.url


async def subscribe(client, url, name, channel, **properties):
    config = {"channel": channel, **properties.pop("config", {})}
    made = await client.subscribe({"sink": f"{url}/{name}", "config": config, **properties})
    return made["id"]


async def catch_up(client, subscription):
    """Wait for the newest catch-up of a subscription."""
    (newest, *_) = await client.jobs(kind="catch-up", subscription=subscription)
    return await client.finished(newest)


async def test_a_start_brings_the_past_and_the_present_once_each(client):
    """Events come all the time, so that the seam between the two lies somewhere among them."""
    await client.create_channel("shop", "orders")
    numbers = iter(range(10**6))
    stop = asyncio.Event()
    sent: list[int] = []

    async def produce():
        while not stop.is_set():
            batch = [next(numbers) for _ in range(5)]
            await client.publish_batch([change(n) for n in batch], "shop/orders")
            sent.extend(batch)
            await asyncio.sleep(0.01)

    async with receiving() as (arrived, url):
        producing = asyncio.create_task(produce())
        await asyncio.sleep(0.5)
        earliest = await subscribe(client, url, "all", "shop/orders", config={"start": "earliest"})
        since = {"filter": {"cel": "int(string(ce.tso)) >= 441000100"}}
        odd = [{"exact": {"type": "row.update"}}]
        await subscribe(client, url, "odd", "shop/orders", filters=odd, config={"start": since})
        await subscribe(client, url, "late", "shop/orders", config={"start": {"position": 2**40}})
        await catch_up(client, earliest)
        await asyncio.sleep(0.3)
        stop.set()
        await producing
        await arrived.until("all", len(sent))
        await arrived.until("odd", len([n for n in sent if n >= 10 and n % 2]))
    assert arrived.counts("all") == Counter(sent)
    assert arrived.counts("odd") == Counter(n for n in sent if n >= 10 and n % 2)
    assert max(arrived.counts("late").values(), default=1) == 1


async def test_a_consumer_goes_to_a_transaction_of_a_binlog(client, binlog):
    """What message filter expressions were proposed for: find the GTID or the TSO, and go on from there."""
    async with receiving() as (arrived, url):
        subscription = await subscribe(client, url, "table", binlog)
        wanted = message.property("gtid").equals("3e11fa47-71ca-11e1-9e33-c80aa9429562:250")
        dry = await client.finished(await client.seek(subscription, wanted, dry_run=True))
        assert (dry["found"], dry["moved"], dry["event"]["id"]) == (True, False, "250")
        assert await client.jobs(kind="catch-up", subscription=subscription) == []

        by_gtid = await client.finished(await client.seek(subscription, wanted))
        assert (by_gtid["moved"], by_gtid["position"]) == (True, dry["position"])
        await catch_up(client, subscription)
        assert arrived.counts("table") == Counter(range(250, ROWS))

        arrived.events.clear()
        tso = message.property("tso").greater_than_equals(441_000_000 + 10 * 380)
        body = message.encode_seek(message.Seek(1, 7, expression=tso))
        path = f"/api/subscriptions/{subscription}/seek"
        headers = [("content-type", "application/protobuf"), ("prefer", "wait=60")]
        answer = msgspec.json.decode(await client._request("POST", path, body, headers))
        assert (answer["state"], answer["request"]["requestId"]) == ("done", 7)
        await catch_up(client, subscription)
        assert arrived.counts("table") == Counter(range(380, ROWS))
        assert not any(MARK in event.attributes for event in arrived.events["table"])


async def test_seeking_forward_leaves_behind_what_waits(service, client, binlog):
    async with receiving() as (arrived, url):
        arrived.refuses.add("slow")
        start = {"time": "2001-01-01T00:00:00Z"}
        subscription = await subscribe(client, url, "slow", binlog, config={"start": start})
        (left_behind,) = await client.jobs(kind="catch-up", subscription=subscription)
        async with asyncio.timeout(60):  # the breaker lets only a few be tried
            while arrived.refused["slow"] < 12:
                await asyncio.sleep(0.05)
        wanted = message.property("gtid").like("%:390")
        sought = await client.finished(await client.seek(subscription, wanted))
        await until_dropped(service, left_behind["id"])
        arrived.refuses.clear()
        await catch_up(client, subscription)
        assert arrived.counts("slow") == Counter(range(390, ROWS))
        assert (await client.job(left_behind["id"]))["state"] == "cancelled"
        request = (await client.job(sought["catchUp"]))["request"]
        assert request == {"from": {"position": {"0": sought["position"]}}}


async def until_dropped(service, job_id):
    """Wait until the dispatcher has heard that a catch-up is over; what it had begun has been answered by then."""
    with opening(Jobs, f"sqlite:///{service.data}/store.db") as jobs:
        while Replays(jobs).waiting_chunks(job_id):
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)


async def test_nothing_moves_where_nothing_is_found(client, binlog):
    async with receiving() as (_, url):
        subscription = await subscribe(client, url, "none", binlog)
        result = await client.finished(await client.seek(subscription, {"filter": {"exact": {"gtid": "no"}}}))
        assert result == {"found": False, "moved": False}
        assert await client.jobs(kind="catch-up", subscription=subscription) == []


def test_the_commands(service, binlog, tmp_path):
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, [*arguments, "--url", service.url])
        assert result.exit_code == 0, result.output
        return result.stdout

    told = run("filter", "backtest", "--cel", "data.amount >= 300", "--channel", binlog, "--from", "1h",
               "--examples", "2", "--plot", str(tmp_path / "rate.svg"))  # fmt: skip
    assert "100 of 400 events match (25.00%)" in told
    assert "█" in told
    assert "399" in told
    assert (tmp_path / "rate.svg").read_text().startswith("<?xml")
    found = msgspec.json.decode(
        run("filter", "backtest", "--sql", "type = 'row.insert'", "--channel", binlog, "--json")
    )
    assert (found["events"], found["matched"], len(found["examples"])) == (400, 200, 5)
    assert sum(bucket["matched"] for bucket in found["buckets"]) == 200
    assert found["examples"][-1]["event"]["data"] == {"table": "orders", "amount": 398}

    subscription = run("subscribe", "--sink", "http://127.0.0.1:9/", "--channel", binlog).strip()
    assert "event 17 of /mysql/orders" in run("seek", subscription, "--cel", "data.amount == 17", "--dry-run")
    job = run("replay", subscription, "--rate", "1", "--detach").strip()
    assert job in run("get", "jobs")
    assert "cancelled" in run("cancel", job)
    assert msgspec.json.decode(run("get", "jobs", job))["state"] == "cancelled"


async def test_a_job_that_fails_says_why(client, binlog):
    async with receiving() as (_, url):
        subscription = await subscribe(client, url, "gone", binlog)
        job = await client.replay(subscription, rate=1)
        await client.unsubscribe(subscription)
        with pytest.raises(JobFailed, match="subscription"):
            await client.finished(job)


async def test_a_power_cut_in_a_replay_loses_nothing(service, client, binlog):
    """The last test: the service is killed and started again."""
    async with receiving() as (arrived, url):
        subscription = await subscribe(
            client, url, "again", binlog, filters=[{"exact": {"type": "row.update"}}]
        )
        job = await client.replay(subscription, {"filter": {"cel": "data.amount >= 100"}}, rate=40)
        await arrived.until("again", 40)
        service.kill()
        service.start()
        await service.wait_until_ready(_PATIENCE)
        result = await client.finished(job)
    wanted = range(101, ROWS, 2)
    assert result == {"found": len(wanted), "delivered": len(wanted), "dead": 0}
    counts = arrived.counts("again")
    assert sorted(counts) == list(wanted)
    assert counts.total() < len(wanted) * 1.5
    assert {event.attributes[MARK] for event in arrived.events["again"]} == {job["id"]}
