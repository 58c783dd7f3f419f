"""One table of protocols; a library that isn't there is an outcome, not a crash."""

import importlib.util
import subprocess
import sys

import pytest
from tests.delivery.protocols.contract import payloads

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.target import Target
from headrace.delivery.protocols.table import PROTOCOLS, new_sender
from headrace.delivery.sinks.guard import Guard


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_protocol_has_its_sender(protocol):
    guard = Guard()
    sender = new_sender(protocol, guard)
    assert type(sender).__name__ == PROTOCOLS[protocol].name
    await sender.close()
    guard.close()


@pytest.mark.parametrize("protocol", ["KAFKA", "AMQP", "NATS"])
async def test_a_missing_package_is_said_at_each_attempt(protocol, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == PROTOCOLS[protocol].package else found(name)
    )
    sender = new_sender(protocol, None)
    outcome = await sender.send(Target("o", protocol, "x://y", {"mode": "binary"}, 1.0), payloads())
    assert outcome.verdict is Verdict.AGAIN
    assert f'pip install "headrace[{PROTOCOLS[protocol].extra}]"' in outcome.reason
    await sender.forget("o")
    await sender.close()


async def test_an_unknown_protocol():
    outcome = await new_sender("PIGEON").send(Target("o", "PIGEON", "x://y", {}, 1.0), payloads())
    assert (outcome.verdict, outcome.reason) == (Verdict.AGAIN, "this version doesn't deliver over PIGEON")


def test_the_table_imports_no_library():
    code = (
        "import sys, headrace.delivery.protocols.table; "
        "print([name for name in ('aiokafka', 'nats', 'aiohttp') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
