"""apply, get and delete of Knative's objects, against the real service."""

import msgspec
import pytest
from tests.controlplane.manifests import broker, trigger

from headrace.controlplane.manifest_text import read_manifests, write_manifests


@pytest.fixture
def written(tmp_path):
    """Write manifests to a file, in a namespace of their own, and return its path."""

    def written(*documents, name="manifests.yaml", namespace="cli"):
        for document in documents:
            document["metadata"]["namespace"] = namespace
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(write_manifests(list(documents)))
        return path

    return written


def test_from_apply_to_delete(run, service, written):
    path = written(broker("b"), trigger("t", broker="b", filter={"sourceAndType": {"type": "a"}}))
    url = ("--url", service.url)
    result = run("apply", "-f", path, *url)
    assert result.stdout == "broker cli/b created\ntrigger cli/t created\n"
    assert "warning:" in result.stderr
    assert "deprecated" in result.stderr
    assert run("apply", "-f", path, *url).stdout == "broker cli/b unchanged\ntrigger cli/t unchanged\n"
    lines = run("get", "triggers", "-n", "cli", *url).stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["namespace", "name", "url", "ready"],
        ["cli", "t", "http://sink.example/in", "True"],
    ]
    assert f"{service.url}/channels/cli/b" in run("get", "brokers", *url).stdout
    [shown] = read_manifests(run("get", "trigger", "t", "-n", "cli", "-o", "yaml", *url).stdout)
    assert shown["status"]["conditions"][0]["type"] == "Ready"
    assert msgspec.json.decode(run("get", "trigger", "t", "-n", "cli", "--json", *url).stdout) == shown
    assert msgspec.json.decode(run("get", "triggers", "-n", "cli", "-o", "json", *url).stdout) == [shown]
    assert run("delete", "-f", path, *url).stdout == "deleted triggers cli/t\ndeleted brokers cli/b\n"
    assert (
        run("delete", "-f", path, *url).stdout
        == "triggers cli/t was not there\nbrokers cli/b was not there\n"
    )
    missing = run("delete", "trigger", "t", "-n", "cli", *url)
    assert (missing.exit_code, "there is no Trigger 'cli/t'" in missing.stderr) == (1, True)


def test_what_is_not_ready_is_shown_with_its_reason(run, service, written):
    run("apply", "-f", written(trigger("waits", broker="nowhere"), namespace="waiting"), "--url", service.url)
    lines = run("get", "triggers", "-n", "waiting", "--url", service.url).stdout.splitlines()
    assert lines[0].split() == ["namespace", "name", "url", "ready", "reason", "message"]
    assert lines[1].split()[:4] == ["waiting", "waits", "http://sink.example/in", "False"]
    assert lines[1].rstrip().split(maxsplit=5)[4:] == [
        "BrokerDoesNotExist",
        "Broker waiting/nowhere does not exist",
    ]


def test_a_folder_standard_input_and_a_dry_run(run, service, written, tmp_path):
    written(broker("one"), name="folder/1.yaml", namespace="folder")
    path = written(broker("two"), name="folder/2.json", namespace="folder")
    result = run("apply", "-f", path.parent, "--dry-run", "--url", service.url)
    assert result.stdout == "broker folder/one created (dry run)\nbroker folder/two created (dry run)\n"
    piped = run(
        "apply",
        "-f",
        "-",
        "-n",
        "piped",
        "--json",
        "--url",
        service.url,
        input=write_manifests([broker("three")]),
    )
    assert msgspec.json.decode(piped.stdout)[0]["namespace"] == "piped"
    assert (
        run("delete", "broker", "three", "-n", "piped", "--url", service.url).stdout
        == "deleted brokers piped/three\n"
    )


def test_mistakes_are_told(run, service, written, tmp_path):
    refused = run("apply", "-f", written(trigger("t", filter={"expression": "("})), "--url", service.url)
    assert refused.exit_code == 1
    assert "Trigger cli/t spec.filter.expression" in refused.stderr
    assert "^" in refused.stderr
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.yaml").write_text("# nothing yet\n---\n")
    for arguments, message in (
        (["apply"], "give the manifests with -f"),
        (["apply", "-f", "nowhere.yaml"], "there is no file or folder 'nowhere.yaml'"),
        (["apply", "-f", str(tmp_path / "empty")], "has no .yaml, .yml or .json file"),
        (["apply", "-f", str(tmp_path / "nothing.yaml")], "there is no object in"),
        (["delete", "-f", str(tmp_path / "nothing.yaml")], "there is no object in"),
        (["delete"], "give the id of a subscription"),
        (["delete", "pod", "x"], "'pod' is no kind of objects"),
        (["delete", "a", "b", "c"], "give the id of a subscription"),
        (["get", "channels", "-n", "x"], "goes with Knative's objects and subscriptions"),
    ):
        result = run(*arguments, "--url", service.url)
        assert result.exit_code == 2, arguments
        assert message in result.stderr
    (tmp_path / "broken.yaml").write_text("a: [")
    broken = run("apply", "-f", tmp_path / "broken.yaml", "--url", service.url)
    assert (broken.exit_code, "broken.yaml: this is not YAML" in broken.stderr) == (1, True)
