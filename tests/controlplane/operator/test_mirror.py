"""The status of an object that could not be acted upon, and when it is tried again."""

import pytest

from headrace.controlplane.operator.handlers import again
from headrace.controlplane.operator.mirror import reason_of, unreconciled
from headrace.errors import ClusterRefused, ConfigError, ServiceRefused, ServiceUnreachable

BEFORE = "2026-01-01T00:00:00.000Z"
GONE = ServiceUnreachable("http://x", "nobody there")


def body(generation=2, observed=2):
    ready, address = (
        {"type": each, "status": "True", "lastTransitionTime": BEFORE} for each in ("Ready", "Addressable")
    )
    status = {"observedGeneration": observed, "conditions": [ready, address], "subscribers": []}
    return {"metadata": {"name": "c", "namespace": "n", "generation": generation}, "status": status}


def conditions(status):
    return {each["type"]: each for each in status["conditions"]}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (GONE, "HeadraceUnreachable"),
        (ClusterRefused(500, "etcd is away"), "ClusterRefused"),
        (ConfigError("no file"), "TokenMissing"),
        (ServiceRefused(401, {"code": "unauthenticated"}), "AccessRefused"),
        (ServiceRefused(403, {"code": "forbidden"}), "AccessRefused"),
        (ServiceRefused(403, {"code": "quota-exceeded"}), "QuotaExceeded"),
        (ServiceRefused(503, {}), "HeadraceFailed"),
    ],
)
def test_each_error_has_a_reason(error, reason):
    assert reason_of(error) == reason
    assert conditions(unreconciled(body(), error))["Reconciled"]["reason"] == reason


def test_what_was_acted_upon_is_as_ready_as_before():
    status = unreconciled(body(), GONE)
    assert list(status) == ["conditions"], "the rest of the status stays"
    found = conditions(status)
    assert found["Ready"] == found["Addressable"] | {"type": "Ready"}
    assert found["Ready"]["lastTransitionTime"] == BEFORE
    assert found["Reconciled"]["message"] == str(GONE)
    assert found["Reconciled"]["lastTransitionTime"] > BEFORE
    again_ = unreconciled(body() | {"status": {**body()["status"], **status}}, GONE)
    assert again_ == status, "who looks again changes nothing"


@pytest.mark.parametrize("shown", [body(3, 2), {**body(), "status": {}}, {"metadata": {"generation": 1}}])
def test_of_a_spec_that_was_not_acted_upon_nothing_is_known(shown):
    ready = conditions(unreconciled(shown, GONE))["Ready"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "HeadraceUnreachable")


def test_it_is_tried_again_later_and_later_but_as_often_as_it_looks():
    assert [again(retry, 30.0) for retry in (0, 1, 2, 3, 1000)] == [5.0, 10.0, 20.0, 30.0, 30.0]
    assert again(0, 1.0) == 1.0
