"""`headrace tail` without a pipeline: what it asks for, how it ends, and what it refuses."""

import asyncio
import signal
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner
from tests.api.consumers import Consumers, subscribe
from tests.api.door import Door
from tests.subscriptions.stores import listed

from headrace.cli.main import main


@pytest.fixture
async def door(tmp_path):
    door = Door(tmp_path)
    yield door
    await door.close()


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


async def test_a_subscription_lives_as_long_as_the_command(door):
    async with door.served() as url:
        process = await run(url, "tail", "--cel", "data.amount > 5", "--json")
        told = (await process.stderr.readline()).decode()
        (made,) = listed(door.store)
        assert made.id in told
        assert (made.protocol, made.protocolsettings["expired"], made.filters) == (
            "PULL", "drop", ({"cel": "data.amount > 5"},),
        )  # fmt: skip
        with closing(Consumers(door, made.id)) as mailbox:
            await mailbox.publish(1)
            assert b'"id":"1"' in await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert (await process.stderr.read()) == b""
        assert list(listed(door.store)) == []
        door.pulling.close()


async def test_what_was_printed_is_acknowledged(door):
    with closing(Consumers(door, await subscribe(door))) as mailbox:
        await mailbox.publish(1, 2, 3)
        async with door.served() as url:
            process = await run(url, "tail", "--subscription", mailbox.id, "--count", "2")
            printed, _ = await asyncio.wait_for(process.communicate(), 20)
            door.pulling.close()
        assert process.returncode == 0
        assert [line.split()[0] for line in printed.splitlines()[::2]] == [b"id=1", b"id=2"]
        assert mailbox.waiting == 1
