"""Admission reviews without an API server, and the certificates of the webhook."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from tests.controlplane.manifests import broker, channel, trigger

from headrace.controlplane.operator.certificates import make_certificates
from headrace.controlplane.operator.review import review
from headrace.errors import InvalidRequest

NAMES = ["headrace-webhook.headrace.svc", "127.0.0.1"]


def asked(shown, operation="CREATE"):
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": operation, "object": shown},
    }


async def answer(shown, operation="CREATE"):
    answered = await review(asked(shown, operation))
    assert (answered["apiVersion"], answered["kind"], answered["response"]["uid"]) == (
        "admission.k8s.io/v1",
        "AdmissionReview",
        "u",
    )
    return answered["response"]


async def test_what_is_good_or_nobody_s_business_is_allowed():
    deleting = channel(delivery={"retry": -1})
    deleting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    for shown, operation in (
        (channel(), "CREATE"),
        (broker("x", nonsense=1), "UPDATE"),
        (deleting, "UPDATE"),
        (None, "DELETE"),
    ):
        assert await answer(shown, operation) == {"uid": "u", "allowed": True}


async def test_a_remark_is_a_warning():
    response = await answer(trigger(filter={"sourceAndType": {"type": "a"}}))
    assert response["allowed"]
    assert "deprecated" in response["warnings"][0]


async def test_a_refusal_carries_the_reason():
    response = await answer(channel(delivery={"retry": -1}), "UPDATE")
    assert not response["allowed"]
    assert response["status"]["message"].startswith("spec.delivery.retry: -1 is no whole number")


@pytest.mark.parametrize(
    "document", [None, {}, {"request": {}}, {**asked(None), "apiVersion": "admission.k8s.io/v1beta1"}]
)
async def test_what_is_no_review_is_told(document):
    with pytest.raises(InvalidRequest, match="AdmissionReview"):
        await review(document)


def test_certificates_serve_their_names_and_are_renewed_in_time(tmp_path):
    made = make_certificates(NAMES)
    assert made.are_good_for(NAMES[:1])
    assert not made.are_good_for([*NAMES, "other.example"])
    assert not made.are_good_for(NAMES, datetime.now(UTC) + timedelta(days=310))
    for name, content in (("cert", made.certificate), ("key", made.key)):
        (tmp_path / name).write_bytes(content)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    assert ssl.create_default_context(cadata=made.authority.decode()).get_ca_certs()
