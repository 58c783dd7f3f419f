import asyncio
from datetime import UTC, datetime

import pytest
from tests.api.application import Application

from headrace.client import Client
from headrace.client.points import point
from headrace.errors import JobFailed
from headrace.filters import message

LONG = 60.0


@pytest.fixture
async def api(tmp_path):
    api = Application(tmp_path)
    yield api
    await api.close()


@pytest.fixture
async def client(api):
    async with api.served() as url, Client(url) as client:
        yield client


def test_points_as_a_program_has_them():
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    expression = message.property("tso").equals(7) & message.publish_time().less_than(9)
    assert point(17) == {"position": 17}
    assert point(moment) == {"time": "2026-01-31T12:00:00+00:00"}
    assert point(expression) == {"filter": {"message": message.to_json(expression)}}
    assert point("latest") == "latest"
    assert point({"eventTime": 5}) == {"eventTime": 5}
    with pytest.raises(ValueError, match="no time zone"):
        point(datetime(2026, 1, 31, 12))  # noqa: DTZ001


async def test_it_waits_for_a_job_and_returns_its_result(api, client):
    job = await client.backtest([{"cel": "true"}], start=5, examples=0)
    assert job["request"]["from"] == 5
    claim = api.jobs.take(LONG)
    heard: list[float] = []
    waiting = asyncio.create_task(client.finished(job, lambda now: heard.append(now["progress"])))
    claim.progress(0.5, "half")
    await asyncio.sleep(1.2)
    claim.finish({"matched": 3})
    assert await waiting == {"matched": 3}
    assert (heard[0], heard[-1]) == (0.5, 1.0)


async def test_a_job_that_ends_without_a_result_is_an_error(api, client):
    subscription = await client.subscribe({"sink": "http://127.0.0.1:9/"})
    replay = await client.replay(subscription["id"], 5, "latest", filter={"cel": "true"}, rate=2)
    assert [job["id"] for job in await client.jobs(kind="replay")] == [replay["id"]]
    await client.cancel_job(replay["id"])
    with pytest.raises(JobFailed, match="was cancelled"):
        await client.finished(replay)
    seek = await client.seek(subscription["id"], 5, dry_run=True)
    api.jobs.take(LONG).fail("it broke")
    with pytest.raises(JobFailed, match="failed: it broke") as failed:
        await client.finished(seek)
    assert failed.value.job["id"] == seek["id"]
