"""The document that a real process serves, and how it is put together."""

import re
import urllib.request

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from tests.api.declared import declared_routes
from tests.api.role import HttpRole

from headrace.api.openapi.document import assemble


def operations(paths):
    return {(path, method.upper()) for path, item in paths.items() for method in item}


def fetch(role):
    with urllib.request.urlopen(f"{role.url}/openapi.json", timeout=20) as answer:
        assert answer.headers["content-type"] == "application/json"
        return msgspec.json.decode(answer.read())


@pytest.fixture(scope="module")
def role(tmp_path_factory):
    with HttpRole(tmp_path_factory.mktemp("http") / "data") as role:
        yield role


@pytest.fixture(scope="module")
def document(role):
    return fetch(role)


@pytest.fixture
def page(role):
    with urllib.request.urlopen(f"{role.url}/docs", timeout=20) as answer:
        yield answer


def test_every_route_that_is_served_is_described_and_nothing_else(document):
    assert operations(document["paths"]) == {(each.path, each.method) for each in declared_routes()}


def test_a_route_is_declared_once():
    declared = [(each.path, each.method) for each in declared_routes()]
    assert len(set(declared)) == len(declared) > 60


def test_a_link_to_what_is_not_served_fails():
    linking = [each for each in declared_routes() if each.operation == "createKey"]
    with pytest.raises(KeyError, match="showKey"):
        assemble(linking)


def test_it_is_an_openapi_document(document):
    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_operations_have_ids_summaries_and_tags_of_the_list(document):
    known, seen = {tag["name"] for tag in document["tags"]}, set()
    for path, method in operations(document["paths"]):
        operation = document["paths"][path][method.lower()]
        assert operation["operationId"] not in seen
        seen.add(operation["operationId"])
        assert operation["summary"].endswith("."), operation["operationId"]
        assert operation["tags"]
        assert set(operation["tags"]) <= known


def test_nothing_is_referred_to_that_is_not_there(document):
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict) and isinstance(value.get("$ref"), str):
            _, _, kind, name = value["$ref"].split("/")
            assert name in document["components"][kind]
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []


def test_the_page_shows_the_document_and_needs_no_other_host(page):
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    text = page.read().decode()
    assert 'fetch("openapi.json")' in text
    assert not re.search(r"https?:|//cdn|@import|<link|<img|<script src", text)


def test_examples_of_schemas_are_valid(document):
    shown = 0
    for name, schema in document["components"]["schemas"].items():
        whole = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        for example in schema.get("examples", []):
            jsonschema.Draft202012Validator(whole).validate(example)
            shown += 1
    assert shown > 10


def test_a_process_describes_what_it_serves_itself(tmp_path):
    with HttpRole(tmp_path / "data", "ingress", api__metrics=False) as ingress:
        alone = fetch(ingress)
    assert set(alone["paths"]) == {
        "/channels/{namespace}/{name}",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/docs",
    }
    assert "Subscription" not in alone["components"]["schemas"]
    assert "CloudEvent" in alone["components"]["schemas"]
