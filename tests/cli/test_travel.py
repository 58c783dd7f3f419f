"""seek, replay, backtest and jobs on the command line; the pipeline isn't there, so jobs wait."""

import asyncio
import signal
import sys

import msgspec
import pytest

from headrace.client import Client

SINK = "http://127.0.0.1:9000/"


@pytest.fixture
def asked(run, service):
    """Run a command and return the job that it made."""

    def asked(*arguments):
        result = run(*arguments, "--detach", "--url", service.url)
        assert result.exit_code == 0, result.output
        job = run("get", "jobs", result.stdout.strip(), "--url", service.url)
        return msgspec.json.decode(job.stdout)

    return asked


def test_a_start_is_part_of_the_subscription(subscribed):
    assert subscribed("--sink", SINK, "--from", "17")["config"]["start"] == {"position": 17}
    assert subscribed("--sink", SINK, "--from", "earliest")["config"]["start"] == "earliest"


def test_a_seek_joins_point_and_filter(subscribed, asked):
    id_ = subscribed("--sink", SINK)["id"]
    assert asked("seek", id_, "5")["request"] == {"to": {"position": {"0": 5}}}
    assert asked("seek", id_, "earliest", "--cel", "true")["request"] == {"to": {"filter": {"cel": "true"}}}
    both = asked("seek", id_, "5", "--sql", "type = 't'", "--dry-run")["request"]
    assert both == {"to": {"position": {"0": 5}, "filter": {"sql": "type = 't'"}}, "dryRun": True}


def test_a_replay_with_every_option(subscribed, asked):
    id_ = subscribed("--sink", SINK)["id"]
    job = asked("replay", id_, "--from", "5", "--to", "9", "--cel", "true", "--rate", "2.5")
    assert job["request"] == {
        "from": {"position": {"0": 5}}, "to": {"position": {"0": 9}}, "filter": {"cel": "true"}, "rate": 2.5,
    }  # fmt: skip
    assert (job["kind"], job["subscription"], job["state"]) == ("replay", id_, "waiting")


def test_jobs_are_listed_and_cancelled_once(run, service, subscribed, asked):
    job = asked("replay", subscribed("--sink", SINK)["id"])
    listed = run("get", "jobs", "--url", service.url).stdout
    assert f"{job['id']}  replay" in listed
    assert run("cancel", job["id"], "--url", service.url).exit_code == 0
    again = run("cancel", job["id"], "--url", service.url)
    assert (again.exit_code, "cancelled already" in again.stderr) == (1, True)


async def test_ctrl_c_leaves_no_job_behind(service):
    command = ["filter", "backtest", "--cel", "true", "--url", service.url]
    async with Client(service.url) as client:
        known = len(await client.jobs(kind="backtest"))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "headrace", *command, stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(30):
            while len(jobs := await client.jobs(kind="backtest")) == known:
                await asyncio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 1
        assert f"cancelled backtest {jobs[0]['id']}" in said.decode()
        assert (await client.job(jobs[0]["id"]))["state"] == "cancelled"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("seek", "x"), "give a point, a filter or both"),
        (("seek", "x", "latest", "--cel", "true"), "nothing comes behind"),
        (("seek", "x", '{"cel": "true"}', "--cel", "true"), "in one way"),
        (("seek", "x", "--cel", "1 +"), "column"),
        (("seek", "x", "soon"), "so long ago"),
        (("replay", "x", "--rate", "0"), "--rate"),
        (("replay", "x"), "there is no subscription 'x'"),
        (("filter", "backtest", "--cel", "("), "column"),
        (("filter", "backtest"), "give the filter in one way"),
        (("filter", "backtest", "--cel", "true", "--from", "soon"), "two hours ago"),
        (("get", "channels", "x"), "subscriptions, jobs and redrives only"),
    ],
)
def test_what_is_wrong_is_said(run, service, arguments, said):
    result = run(*arguments, "--url", service.url)
    assert result.exit_code != 0
    assert said in result.stderr
