"""The service as a whole: start, stop, roles that die, starts that are refused."""

import asyncio
import os
import signal
import subprocess
import sys

from headrace.client import Client, Sink
from headrace.events.event import Event
from headrace.service.processes.process_table import role_processes
from headrace.service.processes.service import ServiceProcess, free_port
from headrace.service.role import EXIT_REFUSED


async def _arrives(client: Client, arrived: list[Event], id_: str, seconds: float = 90) -> None:
    """Publish an event and wait until the sink has it."""
    await client.publish(Event({"specversion": "1.0", "id": id_, "source": "/s", "type": "t"}, b"x"))
    async with asyncio.timeout(seconds):
        while id_ not in [event.id for event in arrived]:
            await asyncio.sleep(0.05)


async def test_roles_that_die_come_back_and_nothing_is_lost(make_service):
    service = make_service()
    service.start()
    await service.wait_until_ready()
    arrived: list[Event] = []
    async with Sink(lambda received: arrived.append(received.event)) as sink, Client(service.url) as client:
        await client.subscribe({"sink": sink.url, "protocol": "HTTP"})
        await _arrives(client, arrived, "first")
        for role in ("dispatcher", "pipeline"):
            [process] = role_processes(service.pid, role)
            os.kill(process, signal.SIGKILL)
            await _arrives(client, arrived, f"after {role} died")
        [process] = role_processes(service.pid, "http")
        os.kill(process, signal.SIGKILL)
        await asyncio.sleep(0.2)
        await service.wait_until_ready()
        await _arrives(client, arrived, "after http died")
        await _refuses_a_second_service(service)
        assert (await client.readiness())["ready"]
    assert service.stop() == 0
    assert role_processes(service.pid, "http") == role_processes(service.pid, "pipeline") == []


async def _refuses_a_second_service(service) -> None:
    """On the same folder, and on the same port; neither disturbs the one that runs."""
    for data, port, words in (
        (service.data, "0", "another process"),
        (service.data.parent / "other", service.port, "--port"),
    ):
        command = [
            sys.executable,
            "-m",
            "headrace",
            "up",
            "--data",
            str(data),
            "--port",
            str(port),
            "--role",
            "http",
        ]
        ended = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=30, check=False
        )
        assert ended.returncode in (1, EXIT_REFUSED)
        assert words in ended.stderr


async def test_roles_stop_when_their_supervisor_is_gone(make_service):
    service = make_service(ROLES='["http", "dispatcher"]')
    service.start()
    await service.wait_until_ready()
    os.kill(service.pid, signal.SIGKILL)
    async with asyncio.timeout(20):
        while role_processes(service.pid, "http") or role_processes(service.pid, "dispatcher"):
            await asyncio.sleep(0.05)


async def test_roles_may_be_started_one_by_one_and_in_any_order(tmp_path):
    """On one data folder, each by a command of its own; none is run twice."""
    data = tmp_path / "data"
    parts = {
        role: ServiceProcess(data, free_port(), tmp_path / f"{role}.log", {"ROLES": f'["{role}"]'})
        for role in ("dispatcher", "api", "ingress")
    }
    try:
        for part in parts.values():
            part.start()
        await parts["api"].wait_until_ready()
        await parts["ingress"].wait_until_ready()
        assert "there is no log" in parts["dispatcher"].output.read_text()
        async with Client(parts["api"].url) as client:
            await client.subscribe({"sink": "http://127.0.0.1:9/", "protocol": "HTTP"})
        async with Client(parts["ingress"].url) as client:
            await client.publish(Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}))
            metrics = await client.metrics()
        assert "headrace_events_accepted_total" in metrics
        command = [sys.executable, "-m", "headrace", "up", "--data", str(data), "--role", "dispatcher"]
        again = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=30, check=False
        )
        assert (again.returncode, "another process" in again.stderr) == (1, True)
        assert [part.stop() for part in parts.values()] == [0, 0, 0]
    finally:
        for part in parts.values():
            if part.is_running:
                part.kill()


def test_an_unknown_role_is_refused(tmp_path):
    command = [sys.executable, "-m", "headrace", "up", "--data", str(tmp_path), "--role", "cook"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert "there is no role 'cook'" in ended.stderr
