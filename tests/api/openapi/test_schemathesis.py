"""Requests made from the OpenAPI document, valid and invalid ones, against a real process: nothing it says is untrue.

`HEADRACE_SCHEMATHESIS_EXAMPLES` makes it more thorough than there is time for in every run.
"""

import os
import re
import threading
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.api.declared import declared_routes
from tests.api.role import HttpRole

from headrace.api.openapi.document import assemble
from headrace.database.database import Database
from headrace.ledger.records.probes import ProbeOutcome
from headrace.ledger.records.records import Records

EXAMPLES = int(os.environ.get("HEADRACE_SCHEMATHESIS_EXAMPLES", "4"))
MOST_EDGES = 4 * EXAMPLES
LINE = {"$ref": "#/components/schemas/SubscriptionLine"}


def light(value: Any) -> Any:
    """Return the document without what takes schemathesis minutes: great lengths beside patterns, and long imports."""
    if isinstance(value, list):
        return [light(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("items", {}) == LINE:
        return value | {"maxItems": 2}
    is_heavy = "pattern" in value and value.get("maxLength", 0) > 255
    return {name: light(each) for name, each in value.items() if name != "maxLength" or not is_heavy}


DOCUMENT = light(assemble(declared_routes()))

# Formats of our own: what JSON Schema can't say of a text.
schemathesis.openapi.format(
    "cel", st.sampled_from(["true", "ce.type == 'a'", "has(ce.subject) && data.x > 1"])
)
schemathesis.openapi.format(
    "cesql", st.sampled_from(["TRUE", "type = 'a'", "EXISTS subject AND source LIKE '%x'"])
)
schemathesis.openapi.format("iso8601-duration", st.sampled_from(["PT1S", "PT0.5S", "PT30S", "PT1M"]))


@schemathesis.serializer("application/x-ndjson")
def as_lines(_, lines):
    """Write an array with each element on a line of its own; what is none, as it is."""
    return (
        b"\n".join(map(msgspec.json.encode, lines)) if isinstance(lines, list) else msgspec.json.encode(lines)
    )


@schemathesis.deserializer("application/x-ndjson")
def from_lines(_, response):
    return msgspec.json.Decoder().decode_lines(response.content)


KEPT = "kept/kept"
"""A channel that no request is likely to delete."""


UNSAYABLE = {
    "contains U\\+([0-9A-F]{1,2}FFF[EF]|D[89A-F])": "patterns that all languages read alike end with U+FFFF",
    r"must be .* not a fraction: -?\d+\.0$": "an event's integer is never written 1.0, which JSON Schema takes for 1",
    "operand (has 64 bits|is finite|must be finite)": "how great a number is that is written as a text",
    "it is not a URI|has to be an http or https address": "what is an IPv6 address, or a host name in Unicode",
    "is in the past": "the time that it is",
    "^unknown key; subscriptions to": "what a channel declares",
    "^the document names channel": "what the address says",
    "has to be later than": "which of two times is the later one",
    "names the topic": "whether two texts are the same",
    "has a name twice": "whether two names are, but for the case of messages",
    "exceeds? the limit|deeper than the limit": "what a filter costs",
    "bytes and the limit": "how many bytes a text has",
    "^is neither whsec_": "whether a public key belongs to its private key",
    "is not a cursor from an earlier answer": "what was answered before",
}
"""Why a request may be refused that the schemas allow: what of it JSON Schema has no words for."""
UNSAYABLE_OF = {
    "updateSubscription": {
        "can't change": "what the subscription is now",
        "is the mask|is what is shown of a key": "which secrets there are",
    },
    "changeSecrets": {"^it is no subscription over HTTP|sets this header": "what the subscription is now"},
    "importSubscriptions": {
        "^there is no channel": "which channels there are",
        "^has to be there, to be kept": "what a parameter asks for",
        "stands in an earlier line": "what other lines say",
    },
}
"""The same of single operations."""

CONFIG = SchemathesisConfig.from_dict(
    {
        "generation": {"deterministic": True, "max-examples": EXAMPLES},
        # Whoever names another version than the one there is isn't heard further.
        "checks": {
            "negative_data_rejection": {
                "expected-statuses": ["400", "404", "405", "409", "412", "413", "415"]
            }
        },
    }
)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
OPERATIONS: list[Any] = [each.ok() for each in SCHEMA.get_all_operations() if isinstance(each, Ok)]
SETTINGS = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def refused_for_a_reason(_, response, case):
    """What the schemas allow is refused only for what they can't say."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code != 400:
        return
    if case.operation.definition.raw["operationId"] == "publish" and "cloudevents" not in (
        case.media_type or ""
    ):
        return  # in binary mode headers make the event, and none of them is required in the other modes
    if case.operation.definition.raw["tags"] == ["Objects"]:
        return  # what a manifest's spec may be is Knative's to say, and the resource definitions' to describe
    operation = case.operation.definition.raw["operationId"]
    reasons = [*UNSAYABLE, *UNSAYABLE_OF.get(operation, ())]
    unexplained = [
        each
        for each in problems_of(response.json())
        if not any(re.search(reason, each) for reason in reasons)
    ]
    assert not unexplained, f"the schemas allow this request, and it is refused: {unexplained}"


def problems_of(refusal):
    """Return everything that a refusal complains of."""
    lines = [fault for line in refusal.get("lines", []) for fault in line["faults"]]
    faults = lines or refusal.get("faults", [refusal["detail"]])
    return [fault if isinstance(fault, str) else fault["problem"] for fault in faults]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A process that listens, and somebody who answers test-sends as a dispatcher would."""
    data = tmp_path_factory.mktemp("schemathesis") / "data"
    with HttpRole(data, roles=["http"]) as role:
        records = Records(Database(f"sqlite:///{data}/delivery.db"))
        ended = threading.Event()
        answering = threading.Thread(target=_answer_tests, args=(records, ended))
        answering.start()
        try:
            with requests.Session() as session:
                namespace, name = KEPT.split("/")
                session.post(f"{role.url}/api/channels", json={"namespace": namespace, "name": name})
                yield role.url, session
        finally:
            ended.set()
            answering.join()
            records.database.close()


def _answer_tests(records, ended):
    while not ended.wait(0.01):
        for probe in records.probes.take(10):
            records.probes.tell(probe.id, ProbeOutcome("done", 0.01, 200, "", (("a", "b"),), b"ok"))


def aim(case, url, session):
    """Let a request about a subscription be about one that is there, unless it is just that which is wrong with it.

    An import that may skip lines takes whatever it is sent, so let it not.
    """
    path, components = case.operation.path, case.meta.components
    if path.endswith("/import") and case.query.get("skipFaulty") in (True, "true"):
        case.query["skipFaulty"] = "false"
    wrong = components.get(ParameterLocation.PATH)
    if "subscriptions/{id}" in path and case.method != "DELETE" and not (wrong and wrong.mode.is_negative):
        wish = {"sink": "http://127.0.0.1:9/", "protocol": "HTTP", "config": {"channel": KEPT}}
        made = session.post(f"{url}/subscriptions", json=wish)
        case.path_parameters["id"] = made.json()["id"]


def check(case, service):
    """Send one request, and hold the answer against everything that the document says."""
    url, session = service
    aim(case, url, session)
    case.call_and_validate(
        url,
        session,
        excluded_checks=[positive_data_acceptance],
        additional_checks=[refused_for_a_reason],
        timeout=30,
    )


def at_the_edges(operation):
    """Return requests at the edges of what the schemas allow, evenly chosen from all that there are."""
    generation = operation.schema.config.generation
    cases = operation.schema.iter_coverage_cases(
        operation, generation_modes=list(GenerationMode), generation_config=generation
    )
    found = list(islice(cases, MOST_EDGES))
    return found[:: max(1, len(found) // EXAMPLES)]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.label)
def test_nothing_is_untrue_at_the_edges(operation, service):
    for case in at_the_edges(operation):
        check(case, service)


def can_be_wrong(operation):
    """Tell whether a request can be other than described: it can't where it is made of any texts."""
    schemas = [each.definition["schema"] for each in operation.iter_parameters()]
    return bool(operation.body) or any(each.keys() - {"type", "minLength"} for each in schemas)


def tried(operation):
    return [mode for mode in GenerationMode if mode.is_positive or can_be_wrong(operation)]


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        pytest.param(operation, mode, id=f"{operation.label}-{mode.value}")
        for operation in OPERATIONS
        for mode in tried(operation)
    ],
)
def test_nothing_is_untrue_of_random_requests(operation, mode, service):
    @settings(SETTINGS, max_examples=EXAMPLES)
    @given(operation.as_strategy(generation_mode=mode))
    def send(case):
        check(case, service)

    send()


def test_what_links_lead_to_is_there(service):
    """Follow the document's links from what is made to what can be done with it."""
    url, session = service
    found: list[FailureGroup] = []

    class Following(SCHEMA.as_state_machine()):  # type: ignore[misc]
        def call(self, case, **_):
            return case.call(url, session, timeout=30)

        def validate_response(self, response, case, additional_checks=None, **_):
            try:
                case.validate_response(
                    response,
                    excluded_checks=[positive_data_acceptance],
                    additional_checks=[refused_for_a_reason],
                )
            except FailureGroup as failure:
                found.append(failure)
                raise

    # What was made for one walk is still there in the next one, which goes another way by that.
    with suppress(FlakyStrategyDefinition):
        Following.run(settings=settings(SETTINGS, max_examples=max(2, EXAMPLES // 4), stateful_step_count=6))
    assert found == []
