"""Schemas say what the checks do: on the examples of the specification and of the docs, and on changed ones.

`examples.json` has what is taken and what is refused, by both.
"""

import re
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api.declared import declared_routes
from tests.examples import examples

from headrace.api.openapi.document import assemble
from headrace.errors import FilterError, InvalidSubscription
from headrace.filters import compile_filter
from headrace.filters.dialects.schemas import dialect_schemas
from headrace.filters.dialects.table import DIALECTS
from headrace.protocols import PROTOCOLS
from headrace.subscriptions.channels.config_keys import OWN_KEYS, ConfigKey
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL
from headrace.subscriptions.delivery.spec import check_delivery
from headrace.subscriptions.imports.lines import Import
from headrace.subscriptions.subscription import PROPERTIES, parse_subscription
from headrace.subscriptions.updates import updated

ROOT = Path(__file__).parents[3]
EXAMPLES = msgspec.json.decode((Path(__file__).parent / "examples.json").read_bytes())
DOCUMENT = assemble(declared_routes())
SCHEMAS = DOCUMENT["components"]["schemas"]
# What the specification's own example has in its config, some channel has to have declared.
DECLARED = {"data": ConfigKey("string"), "interval": ConfigKey("integer")}
THERE = parse_subscription(
    {
        "sink": "https://example.com/",
        "sinkCredential": {"credentialType": "PLAIN", "identifier": "me", "secret": "s"},
        "protocolsettings": {"headers": {"X-Api-Key": "s"}, "signing": ["whsec_" + "YWJj" * 8]},
    }
)
"""A subscription that updates are about."""


def validator(name):
    return jsonschema_rs.Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    )


VALIDATORS = {
    name: validator(name)
    for name in (
        "SubscriptionProposal",
        "SubscriptionUpdate",
        "SubscriptionLine",
        "SubscriptionTest",
        "Filter",
        "Delivery",
    )
}


def is_taken(name, value):
    """Ask the code that decides."""
    try:
        if name == "SubscriptionUpdate":
            updated(THERE, THERE.secrets, value, lambda _: DECLARED)
        elif name == "SubscriptionLine":
            lines = Import({DEFAULT_CHANNEL: DECLARED})
            with lines.lot:
                lines.read([msgspec.json.encode(value)])
            return not lines.refused
        elif name.startswith("Subscription"):
            proposal = parse_subscription(value, lambda _: DECLARED)
            return name == "SubscriptionProposal" or not proposal.secrets
        elif name == "Delivery":
            return not check_delivery(value, "delivery")
        else:
            compile_filter(value)
    except (InvalidSubscription, FilterError):
        return False
    return True


@pytest.mark.parametrize("example", EXAMPLES["taken"], ids=msgspec.json.encode)
def test_what_is_taken_is_valid(example):
    assert is_taken(example["schema"], example["value"])
    VALIDATORS[example["schema"]].validate(example["value"])


@pytest.mark.parametrize("example", EXAMPLES["refused"], ids=msgspec.json.encode)
def test_what_is_refused_is_invalid(example):
    assert not is_taken(example["schema"], example["value"])
    assert not VALIDATORS[example["schema"]].is_valid(example["value"])


def subscriptions_in_docs():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text()
        for found in re.finditer(r"/subscriptions[^\n]*--data '(\{.*?\})'", text, re.DOTALL):
            body = found[1]
            if "$" not in body and '"sink"' in body:
                yield pytest.param(body, id=f"{page.name}:{text[: found.start()].count(chr(10)) + 1}")


@pytest.mark.parametrize("body", list(subscriptions_in_docs()))
def test_subscriptions_of_the_docs_are_valid(body):
    VALIDATORS["SubscriptionProposal"].validate(msgspec.json.decode(body))


def test_there_are_subscriptions_in_the_docs():
    assert len(list(subscriptions_in_docs())) >= 2


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2000), st.floats(-5, 2000).filter(lambda each: each % 1), st.text(max_size=5),
    st.sampled_from(["HTTP", "POST", "a", "PT1S", "http://h/", "binary", "true", "TRUE", "a/b", "ordered"]),
    st.just([]), st.just({}), st.just({"exact": {"type": "a"}}), st.just(["a"]), st.just({"a": "b"}),
)  # fmt: skip
NAMES = st.one_of(
    st.text(max_size=4),
    st.sampled_from(
        [
            *PROPERTIES,
            *DIALECTS,
            *OWN_KEYS,
            "type",
            "mode",
            "topicname",
            "retry",
            "timeout",
            "size",
            "uri",
            "op",
        ]
    ),
)


@st.composite
def changed(draw, value):
    """Return a value with one thing in it replaced, added or removed."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(value)))
        return value | {name: draw(changed(value[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(changed(value[at])), *value[at + 1 :]]
    if isinstance(value, dict):
        if value and draw(st.booleans()):
            name = draw(st.sampled_from(sorted(value)))
            return {each: inner for each, inner in value.items() if each != name}
        return value | {draw(NAMES): draw(VALUES)}
    return draw(VALUES)


@examples(600, deadline=None, derandomize=True)
@given(
    st.sampled_from(EXAMPLES["taken"]).flatmap(
        lambda each: st.tuples(st.just(each["schema"]), changed(each["value"]))
    )
)
def test_a_schema_never_refuses_what_the_code_takes(pair):
    name, value = pair
    if is_taken(name, value):
        VALIDATORS[name].validate(value)


def test_every_dialect_has_a_schema():
    assert set(dialect_schemas("#", "#")) == set(DIALECTS)


def test_properties_of_a_proposal_are_those_that_are_read():
    for name, protocol in PROTOCOLS.items():
        known = set(PROPERTIES) - (set() if protocol.has_sink else {"sinkCredential"})
        schema = SCHEMAS[f"Subscription{name}"]
        assert set(schema["properties"]) - {"sinkcredential", "notes", "status"} == known
    assert set(SCHEMAS["SubscriptionConfig"]["properties"]) == set(OWN_KEYS)
