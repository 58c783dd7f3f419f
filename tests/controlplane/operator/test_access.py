"""The operator at a Headrace that asks who it is: its key comes from a Secret, is revoked, lacks rights, is exchanged."""

import base64
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.api.role import HttpRole
from tests.controlplane.operator.conftest import OperatorProcess, operators_at_rest
from tests.controlplane.operator.kube import channel, create_channel, path_of
from tests.controlplane.operator.test_operator import SUBSCRIBER, ready

from headrace.auth.keys.key import new_key
from headrace.client import Client

GUARDED = "guarded"
SECRET = f"/api/v1/namespaces/{GUARDED}/secrets"
ADMIN = new_key().text


@dataclass
class Guarded:
    """A Headrace with authentication, an operator with its key in a file, and the Secret from which that file comes."""

    headrace: HttpRole
    operator: OperatorProcess
    mounted: Path

    async def give(self, cluster, key: str) -> None:
        """Write the Secret, and do as a kubelet does: exchange the file for what the Secret says."""
        data = {"data": {"token": base64.b64encode(key.encode()).decode()}}
        await cluster.patch(f"{SECRET}/headrace-access", data)
        kept = await cluster.get(f"{SECRET}/headrace-access")
        fresh = self.mounted.with_suffix(".fresh")
        fresh.write_bytes(base64.b64decode(kept["data"]["token"]))
        fresh.replace(self.mounted)

    async def key(self, *roles: str) -> dict[str, str]:
        async with Client(self.headrace.url, token=ADMIN) as client:
            return await client.create_key("operator", {GUARDED: list(roles)})

    async def revoke(self, key: dict[str, str]) -> None:
        async with Client(self.headrace.url, token=ADMIN) as client:
            await client.revoke_key(key["id"])


@pytest.fixture
async def guarded(kube, cluster, tmp_path):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GUARDED}}
    await cluster.create("/api/v1/namespaces", namespace)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "headrace-access"}}
    await cluster.create(SECRET, secret)
    mounted = tmp_path / "token"
    with (
        operators_at_rest(),
        HttpRole(tmp_path / "data", auth__mode="on", auth__admin_keys=[ADMIN]) as headrace,
    ):
        arguments = ("--namespace", GUARDED, "--webhook-port", "0", "--token-file", str(mounted))
        running = OperatorProcess(kube, headrace, tmp_path, *arguments)
        yield Guarded(headrace, running, mounted)
        running.kill()


async def conditions(cluster, name):
    found = await cluster.get(path_of(name, GUARDED))
    return {each["type"]: each for each in found["status"]["conditions"]}


async def test_a_key_is_missing_revoked_too_weak_and_exchanged(kube, cluster, guarded, eventually):
    async def in_the_way(reason):
        found = (await conditions(cluster, "orders")).get("Reconciled", {})
        return found if found.get("reason") == reason else None

    process = guarded.operator.process.pid
    await create_channel(cluster, channel("orders", GUARDED, subscribers=[SUBSCRIBER]))
    missing = await eventually(lambda: in_the_way("TokenMissing"))
    assert "can't be read" in missing["message"]
    assert (await conditions(cluster, "orders"))["Ready"]["status"] == "Unknown"

    first = await guarded.key("admin")
    await guarded.give(cluster, first["key"])
    found = await eventually(lambda: ready(cluster, "orders", 1, GUARDED))
    assert found["status"]["subscribers"] == [
        {"uid": SUBSCRIBER["uid"], "observedGeneration": 3, "ready": "True"}
    ]
    assert found["status"]["address"]["url"].endswith(f"/channels/{GUARDED}/orders")
    assert {each["type"] for each in found["status"]["conditions"]} == {"Ready", "Addressable"}

    await guarded.revoke(first)
    refused = await eventually(lambda: in_the_way("AccessRefused"))
    assert (refused["status"], "revoked" in refused["message"]) == ("False", True), refused
    assert (await conditions(cluster, "orders"))["Ready"]["status"] == "True", "it takes events as before"
    await cluster.patch(path_of("orders", GUARDED), {"spec": {"delivery": {"retry": 3}}})

    async def unknown():
        return (await conditions(cluster, "orders"))["Ready"]["status"] == "Unknown"

    await eventually(unknown)
    found = await cluster.get(path_of("orders", GUARDED))
    assert (found["metadata"]["generation"], found["status"]["observedGeneration"]) == (2, 1)
    assert found["status"]["subscribers"][0]["ready"] == "True"

    weak = await guarded.key("subscribe")
    await guarded.give(cluster, weak["key"])

    async def too_weak():
        return "admin" in (await in_the_way("AccessRefused"))["message"]

    await eventually(too_weak)

    second = await guarded.key("admin")
    await guarded.give(cluster, second["key"])
    found = await eventually(lambda: ready(cluster, "orders", 2, GUARDED))
    assert "Reconciled" not in {each["type"] for each in found["status"]["conditions"]}
    async with Client(guarded.headrace.url, token=ADMIN) as client:
        [made] = [each for each in await client.channels() if each["name"] == "orders"]
    assert made["delivery"] == {"retry": 3}
    assert (guarded.operator.process.pid, guarded.operator.process.poll()) == (process, None)
    await told_as_events(cluster)
    await cluster._call("DELETE", path_of("orders", GUARDED))

    async def is_gone():
        return await cluster.get(path_of("orders", GUARDED)) is None

    await eventually(is_gone)


async def told_as_events(cluster):
    """Who asks `kubectl describe` hears of each reason, and not of each attempt."""
    listed = await cluster.get(f"/api/v1/namespaces/{GUARDED}/events")
    warnings = [each for each in listed["items"] if each["type"] == "Warning"]
    reasons = [each["reason"] for each in warnings]
    assert {"TokenMissing", "AccessRefused"} <= set(reasons)
    assert len(reasons) < 12, reasons
    assert {each["involvedObject"]["name"] for each in warnings} == {"orders"}
