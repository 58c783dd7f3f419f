"""What `deploy/` installs, against the channel specification and against the code."""

import re
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]

from headrace.auth.exposure import check_exposure
from headrace.cli.main import main
from headrace.cli.service.operator import operator
from headrace.config import load_config
from headrace.controlplane.kinds import HEADRACE_CHANNEL, VERSIONS
from headrace.delivery.sinks.guard import Guard
from headrace.errors import RefusedAddress
from headrace.subscriptions.delivery.members import MEMBERS

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / "deploy" / "knative"
_FILES = sorted(_FOLDER.glob("[0-9]*.yaml"))
_ALL = [document for path in _FILES for document in yaml.safe_load_all(path.read_text())]
_RESOURCES = {"headracechannels", "headracechannels/status"}


def one(kind, name):
    [found] = [each for each in _ALL if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


DEFINITION = one("CustomResourceDefinition", "headracechannels.messaging.headrace.dev")


def test_group_and_kind_are_named_as_the_specification_asks():
    assert DEFINITION["spec"]["group"] == HEADRACE_CHANNEL.group  # not in knative.dev
    names = DEFINITION["spec"]["names"]
    assert names["kind"] == HEADRACE_CHANNEL.name
    assert names["kind"].endswith("Channel")
    assert (names["plural"], names["shortNames"]) == (HEADRACE_CHANNEL.plural, [HEADRACE_CHANNEL.short])
    assert DEFINITION["spec"]["scope"] == "Namespaced"


def test_the_definition_has_its_labels_and_categories():
    labels = DEFINITION["metadata"]["labels"]
    assert labels["messaging.knative.dev/subscribable"] == "true"
    assert labels["duck.knative.dev/addressable"] == "true"
    assert labels["knative.dev/crd-install"] == "true"
    assert set(DEFINITION["spec"]["names"]["categories"]) == {"all", "knative", "messaging", "channel"}
    assert DEFINITION["metadata"]["annotations"]["messaging.knative.dev/subscribable"] == "v1"


def test_the_channelable_manipulator_may_do_what_it_must():
    role = one("ClusterRole", "headrace-channelable-manipulator")
    assert role["metadata"]["labels"]["duck.knative.dev/channelable"] == "true"
    [rule] = role["rules"]
    assert (rule["apiGroups"], set(rule["resources"])) == ([HEADRACE_CHANNEL.group], _RESOURCES)
    assert set(rule["verbs"]) == {"create", "get", "list", "watch", "patch", "update"}


def test_the_addressable_resolver_may_do_what_it_must():
    role = one("ClusterRole", "headrace-addressable-resolver")
    assert role["metadata"]["labels"]["duck.knative.dev/addressable"] == "true"
    [rule] = role["rules"]
    assert (rule["apiGroups"], set(rule["resources"])) == ([HEADRACE_CHANNEL.group], _RESOURCES)
    assert set(rule["verbs"]) == {"get", "list", "watch"}


@pytest.mark.parametrize("version", DEFINITION["spec"]["versions"], ids=lambda each: each["name"])
def test_each_version_has_subscribers_delivery_and_a_status_of_its_own(version):
    assert version["served"]
    assert version["subresources"] == {"status": {}}
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    spec, status = schema["spec"]["properties"], schema["status"]["properties"]
    subscriber = spec["subscribers"]["items"]["properties"]
    assert spec["subscribers"]["type"] == "array"
    assert {"uid", "generation", "subscriberUri", "replyUri", "delivery"} <= set(subscriber)
    assert set(spec["delivery"]["properties"]) == set(subscriber["delivery"]["properties"]) == set(MEMBERS)
    assert status["address"]["properties"]["url"]["type"] == "string"
    assert (status["subscribers"]["type"], status["conditions"]["type"]) == ("array", "array")
    assert {"uid", "observedGeneration", "ready"} <= set(status["subscribers"]["items"]["properties"])
    assert {"observedGeneration", "addressable"} <= set(status)


def test_both_versions_have_one_shape_and_one_is_stored():
    first, second = DEFINITION["spec"]["versions"]
    assert (first["name"], second["name"]) == VERSIONS
    assert (first["storage"], second["storage"]) == (True, False)
    assert first["schema"] == second["schema"]
    assert DEFINITION["spec"]["conversion"] == {"strategy": "None"}


def test_schemas_are_structural_and_give_every_property_a_type():
    def check(schema, path):
        assert schema.get("type"), path
        assert "x-kubernetes-preserve-unknown-fields" not in schema, path
        for name, inner in schema.get("properties", {}).items():
            check(inner, f"{path}.{name}")
        if schema["type"] == "array":
            check(schema["items"], f"{path}[]")

    for version in DEFINITION["spec"]["versions"]:
        check(version["schema"]["openAPIV3Schema"], version["name"])


def test_the_base_lists_every_file_in_order():
    base = yaml.safe_load((_FOLDER / "kustomization.yaml").read_text())
    assert base["resources"] == [path.name for path in _FILES]
    numbers = [int(path.name[:3]) for path in _FILES]
    assert numbers == sorted(set(numbers))
    order = [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "CustomResourceDefinition",
        "ConfigMap",
        "Deployment",
        "Service",
    ]
    kinds = [each["kind"] for each in _ALL]
    assert [kinds.index(kind) for kind in order] == sorted(kinds.index(kind) for kind in order)


def test_the_settings_can_be_read(tmp_path):
    path = tmp_path / "headrace.toml"
    path.write_text(one("ConfigMap", "headrace")["data"]["headrace.toml"])
    assert tomllib.loads(path.read_text())["log"]["kind"] == "kafka"
    config = load_config(path, {}, {})
    services = {each["metadata"]["name"] for each in _ALL if each["kind"] == "Service"}
    host = re.match(r"http://([a-z-]+)\.headrace\.svc\.cluster\.local$", config.api.address)
    assert host
    assert host[1] in services


async def test_deliveries_may_go_to_addresses_of_a_cluster_and_not_to_its_machines_metadata(tmp_path):
    path = tmp_path / "headrace.toml"
    path.write_text(one("ConfigMap", "headrace")["data"]["headrace.toml"])
    with closing(Guard(load_config(path, {}, {}).delivery.allow_networks)) as guard:
        for address in ("10.96.0.10", "172.20.0.1", "192.168.3.4", "fd00::1"):
            assert await guard.resolve(address, 80)
        for address in ("169.254.169.254", "127.0.0.1"):
            with pytest.raises(RefusedAddress):
                await guard.resolve(address, 80)


def test_who_seals_and_who_opens_have_the_same_keys():
    def keys(name):
        [container] = one("Deployment", name)["spec"]["template"]["spec"]["containers"]
        given = {each["name"]: each.get("valueFrom") for each in container["env"]}
        return given.get("HEADRACE_STORE_SECRETS_KEYS")

    wanted = {"secretKeyRef": {"name": "headrace-keys", "key": "keys"}}
    assert (keys("headrace-api"), keys("headrace-dispatcher")) == (wanted, wanted)
    assert keys("headrace-ingress") is keys("headrace-pipeline") is None


def test_the_operator_has_a_key_that_the_control_api_knows(tmp_path):
    path = tmp_path / "headrace.toml"
    path.write_text(one("ConfigMap", "headrace")["data"]["headrace.toml"])
    config = load_config(path, {}, {})
    check_exposure(config.api.host, config.auth)
    assert config.auth.is_on

    def given(name, variable):
        [container] = one("Deployment", name)["spec"]["template"]["spec"]["containers"]
        return {each["name"]: each.get("valueFrom") for each in container["env"]}.get(variable)

    secret = "headrace-access"
    pod = one("Deployment", "headrace-operator")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [volume] = [each for each in pod["volumes"] if each["name"] == "access"]
    assert volume["secret"] == {"secretName": secret, "items": [{"key": "token", "path": "token"}]}
    [mounted] = [each for each in container["volumeMounts"] if each["name"] == "access"]
    assert container["args"][-2:] == ["--token-file", f"{mounted['mountPath']}/token"]
    assert given("headrace-api", "HEADRACE_AUTH_ADMIN_KEYS") == {
        "secretKeyRef": {"name": secret, "key": "keys"}
    }


@pytest.mark.parametrize(
    "deployment",
    [each for each in _ALL if each["kind"] == "Deployment"],
    ids=lambda each: each["metadata"]["name"],
)
def test_every_deployment_runs_a_command_that_there_is(deployment):
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    [container] = pod["spec"]["containers"]
    command, *arguments = container["args"]
    parent = click.Context(main, **main.context_settings)
    found = main.get_command(parent, command)
    assert found is not None
    with found.make_context(command, list(arguments), parent=parent) as context:
        assert context.args == []
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    accounts = {each["metadata"]["name"] for each in _ALL if each["kind"] == "ServiceAccount"}
    assert pod["spec"]["serviceAccountName"] in accounts


def test_services_lead_to_ports_that_pods_have():
    pods = [each["spec"]["template"] for each in _ALL if each["kind"] == "Deployment"]
    for service in [each for each in _ALL if each["kind"] == "Service"]:
        [pod] = [
            each for each in pods if service["spec"]["selector"].items() <= each["metadata"]["labels"].items()
        ]
        ports = {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


def test_the_web_hook_is_what_the_operator_looks_for():
    options: dict[str | None, Any] = {each.name: each.default for each in operator.params}
    hooks = one("ValidatingWebhookConfiguration", options["webhook_configuration"])["webhooks"]
    for hook in hooks:
        service = hook["clientConfig"]["service"]
        assert f"{service['name']}.{service['namespace']}.svc" in options["names"]
        assert one("Service", service["name"])["metadata"]["namespace"] == service["namespace"]
    assert one("Secret", options["webhook_secret"])["metadata"]["namespace"] == options["webhook_namespace"]
