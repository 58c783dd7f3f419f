"""`headrace tail` without a pipeline: what it asks for, how it ends, and what it refuses."""

import asyncio
import signal
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner
from tests.api.application import Application
from tests.api.consumers import Consumers, subscribe
from tests.subscriptions.stores import listed

from headrace.cli.main import main


@pytest.fixture
async def api(tmp_path):
    api = Application(tmp_path)
    yield api
    await api.close()


@pytest.mark.parametrize(
    "arguments",
    [["tail", "--subscription", "x", "--prefix", "type=a"], ["tail", "--subscription", "x", "--from", "1h"],
     ["subscribe", "--pull", "--sink", "http://127.0.0.1:1/"], ["subscribe", "--prefix", "type=a"]],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "give either" in result.output


async def run(url, *arguments):
    """Run the command as a process, which gets signals."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "headrace", *arguments, "--url", url,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def test_a_subscription_lives_as_long_as_the_command(api):
    async with api.served() as url:
        process = await run(url, "tail", "--cel", "data.amount > 5", "--json")
        told = (await process.stderr.readline()).decode()
        (made,) = listed(api.store)
        assert made.id in told
        assert (made.protocol, made.protocolsettings["expired"], made.filters) == (
            "PULL", "drop", ({"cel": "data.amount > 5"},),
        )  # fmt: skip
        with closing(Consumers(api, made.id)) as mailbox:
            await mailbox.publish(1)
            assert b'"id":"1"' in await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert (await process.stderr.read()) == b""
        assert list(listed(api.store)) == []
        api.pull.close()


async def test_what_was_printed_is_acknowledged(api):
    with closing(Consumers(api, await subscribe(api))) as mailbox:
        await mailbox.publish(1, 2, 3)
        async with api.served() as url:
            process = await run(url, "tail", "--subscription", mailbox.id, "--count", "2")
            printed, _ = await asyncio.wait_for(process.communicate(), 20)
            api.pull.close()
        assert process.returncode == 0
        assert [line.split()[0] for line in printed.splitlines()[::2]] == [b"id=1", b"id=2"]
        assert mailbox.waiting == 1
