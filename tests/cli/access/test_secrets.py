"""`headrace secrets`, beside a service that goes on meanwhile."""

import base64
import urllib.request
from pathlib import Path

import msgspec
import pytest
from tests.subscriptions.test_credentials import PLAIN

from headrace.secrets.keys import KeyFile


@pytest.fixture
def secrets(run, service):
    def secrets(*arguments):
        result = run("secrets", *arguments, "--json", "--data", service.data)
        assert result.exit_code == 0, result.output
        return msgspec.json.decode(result.stdout)

    return secrets


def create(service):
    document = {"sink": "https://example.com/in", "protocol": "HTTP", "sinkCredential": PLAIN}
    request = urllib.request.Request(
        f"{service.url}/subscriptions",
        msgspec.json.encode(document),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert b"hunter2" not in answer.read()


def test_keys_are_rotated_while_the_service_runs(secrets, service, run):
    assert secrets("status")["keys"] == []
    create(service)
    (first,) = secrets("status")["keys"]
    assert (first["state"], first["subscriptions"]) == ("in force", 1)
    done = secrets("rotate")
    assert (done["resealed"], done["dropped"]) == (1, [])
    new, old = secrets("status")["keys"]
    assert (new["state"], new["subscriptions"]) == ("in force", 1)
    assert old == first | {"state": "old", "subscriptions": 0}
    create(service)
    done = secrets("rotate", "--drop-old")
    assert done["resealed"] == 2
    assert set(done["dropped"]) == {old["key"], new["key"]}
    create(service)
    (last,) = secrets("status")["keys"]
    assert last == {"key": done["key"], "state": "in force", "subscriptions": 3}
    shown = run("secrets", "status", "--data", service.data).stdout
    assert str(service.data / "secrets.key") in shown
    assert base64.b64encode(KeyFile(service.data / "secrets.key").ring()[0].value).decode() not in shown


def test_a_missing_key_is_told(secrets, service, run):
    create(service)
    path = service.data / "secrets.key"
    away = path.rename(service.data / "away")
    try:
        assert {each["state"] for each in secrets("status")["keys"]} == {"missing"}
        result = run("secrets", "rotate", "--data", service.data)
        assert result.exit_code == 1
        assert "restore it first" in result.output
        assert not path.exists()
    finally:
        away.rename(path)


def test_a_new_key_can_be_used_and_is_not_printed_by_config(run, tmp_path):
    key = run("secrets", "new-key").stdout.strip()
    environment = {"HEADRACE_STORE_SECRETS_KEYS": f'["{key}"]'}
    status = run("secrets", "status", "--json", "--data", tmp_path / "data", env=environment)
    assert msgspec.json.decode(status.stdout)["from"] == "store.secrets_keys"
    assert len(msgspec.json.decode(status.stdout)["keys"]) == 1
    for arguments in (["config"], ["config", "--json"]):
        shown = run(*arguments, env=environment)
        assert shown.exit_code == 0
        assert key not in shown.stdout
        assert "***" in shown.stdout
    for wrong in (key, f'["{key}"', f'"{key}"', f'{{a = "{key}"}}'):
        refused = run("config", env={"HEADRACE_STORE_SECRETS_KEYS": wrong})
        assert refused.exit_code == 1
        assert key not in refused.output
    refused = run("secrets", "status", env={"HEADRACE_STORE_SECRETS_KEYS": '["hunter2"]'})
    assert refused.exit_code == 1
    assert "hunter2" not in refused.output


def test_nothing_secret_is_in_the_files_of_the_service(service):
    create(service)
    for path in Path(service.data).rglob("*"):
        if path.is_file():
            assert b"hunter2" not in path.read_bytes(), path
