import base64
import os
import time
from datetime import UTC, datetime

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError
from tests.delivery.protocols.contract import SAMPLES, numbered, payloads

from headrace.delivery.sinks.signatures import message_id, signature_headers, signature_problem, verifier

BODY = b'{"a": 1.0e3 , "b":"\\u00e4"}'


def hmac_key():
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()


def ed25519_key(*, with_public=False):
    private = Ed25519PrivateKey.generate()
    content = private.private_bytes_raw() + (private.public_key().public_bytes_raw() if with_public else b"")
    return "whsk_" + base64.b64encode(content).decode(), private.public_key()


def signed(keys, body=BODY, at=None):
    return dict(signature_headers(keys, "msg_1", time.time() if at is None else at, body))


def test_the_official_library_verifies_an_hmac_signature():
    key = hmac_key()
    Webhook(key).verify(BODY, signed([key]))
    for other_key, body in ((hmac_key(), BODY), (key, BODY + b" ")):
        with pytest.raises(WebhookVerificationError):
            Webhook(other_key).verify(body, signed([key]))


def test_it_is_what_the_official_library_signs():
    key = hmac_key()
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert signed([key], at=at.timestamp())["webhook-signature"] == Webhook(key).sign(
        "msg_1", at, BODY.decode()
    )


def test_an_old_signature_is_refused_by_the_official_library():
    key = hmac_key()
    with pytest.raises(WebhookVerificationError):
        Webhook(key).verify(BODY, signed([key], at=time.time() - 3600))


def test_while_keys_are_exchanged_old_and_new_verify():
    new, old = hmac_key(), hmac_key()
    headers = signed([new, old])
    assert len(headers["webhook-signature"].split(" ")) == 2
    Webhook(new).verify(BODY, headers)
    Webhook(old).verify(BODY, headers)


@pytest.mark.parametrize("with_public", [False, True])
def test_an_ed25519_signature_verifies_with_the_public_key(with_public):
    key, public = ed25519_key(with_public=with_public)
    headers = signed([key])
    version, _, signature = headers["webhook-signature"].partition(",")
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + BODY
    assert version == "v1a"
    public.verify(base64.b64decode(signature), content)
    with pytest.raises(InvalidSignature):
        public.verify(base64.b64decode(signature), content + b" ")


def test_both_kinds_go_together():
    shared = hmac_key()
    headers = signed([shared, ed25519_key()[0]])
    assert [each.partition(",")[0] for each in headers["webhook-signature"].split(" ")] == ["v1", "v1a"]
    Webhook(shared).verify(BODY, headers)


def test_any_bytes_can_be_signed():
    key, public = ed25519_key()
    headers = signed([key], bytes(range(256)))
    signature = base64.b64decode(headers["webhook-signature"].removeprefix("v1a,"))
    public.verify(signature, f"msg_1.{headers['webhook-timestamp']}.".encode() + bytes(range(256)))


@pytest.mark.parametrize("key", ["whsec_ not base64", "secret-of-mine", "whsk_c2hvcnQ="])
def test_what_is_no_key_is_refused_without_showing_it(key):
    with pytest.raises(ValueError) as caught:
        signed([key])
    assert key not in str(caught.value)


def test_an_id_is_the_same_for_the_same_event_and_subscription():
    event = SAMPLES["json"]
    first = message_id("subscription", payloads(event, 7))
    assert first == message_id("subscription", payloads(event, 7))
    others = {
        message_id("other", payloads(event, 7)),
        message_id("subscription", payloads(event, 8)),
        message_id("subscription", payloads(numbered(1)[0], 7)),
        message_id("subscription", payloads(event, 7) + payloads(event, 8)),
    }
    assert len(others | {first}) == 5
    assert "." not in first  # it is what separates the parts that are signed


def test_a_receiver_verifies_both_kinds():
    shared = hmac_key()
    private, public = ed25519_key()
    known = "whpk_" + base64.b64encode(public.public_bytes_raw()).decode()
    stranger = "whpk_" + base64.b64encode(ed25519_key()[1].public_bytes_raw()).decode()
    headers, now = signed([hmac_key(), private, shared]), time.time()
    assert signature_problem(shared, headers, BODY, now) is None
    assert signature_problem(known, headers, BODY, now) is None
    assert signature_problem(stranger, headers, BODY, now) == "none of its signatures was made with this key"
    assert signature_problem(known, headers, BODY + b" ", now) is not None
    assert signature_problem(known, headers | {"webhook-id": "msg_2"}, BODY, now) is not None
    assert signature_problem(known, headers, BODY, now + 301) is not None
    assert signature_problem(known, {}, BODY, now) is not None


def test_a_receiver_verifies_what_the_official_library_signed():
    key, now = hmac_key(), datetime.now(UTC)
    headers = {
        "webhook-id": "msg_x",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": "v2,whatever " + Webhook(key).sign("msg_x", now, BODY.decode()),
    }
    assert signature_problem(key, headers, BODY, time.time()) is None


@pytest.mark.parametrize("key", ["whsk_" + "A" * 43 + "=", "whpk_AAAA", "x", "whsec_%"])
def test_what_can_not_verify_is_refused(key):
    with pytest.raises(ValueError):
        verifier(key)
