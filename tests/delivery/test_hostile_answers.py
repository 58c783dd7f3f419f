"""What sinks and token endpoints answer is read within bounds: no value of it ends in a traceback."""

import math
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.delivery.harness import delivery_settings, spec

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.http import webhooks
from headrace.delivery.protocols.http.answers import Answer, judge, seconds_until
from headrace.delivery.protocols.http.token_endpoint import _failure, _lifetime, _read, _refreshed
from headrace.delivery.settlement.backoff import wait_after
from headrace.errors import RefreshFailed
from headrace.secrets.credential import Refreshable, Token

CREDENTIAL = Refreshable(Token("Bearer", "a", 0.0), "r", "https://127.0.0.1/token")
DIGITS = st.integers(0, 10**6).map(lambda count: "9" * min(count, 5000))
NUMBERS = st.one_of(st.integers(), st.just(10**400), st.just(-(10**400)), st.floats(), DIGITS)
TEXTS = st.one_of(st.text(max_size=300), DIGITS, NUMBERS.map(str), st.just("Thu, 01 Jan 99999 00:00:00 GMT"))


@given(TEXTS)
def test_a_retry_after_is_seconds_or_nothing(text):
    seconds = seconds_until(text)
    assert seconds is None or seconds >= 0
    outcome = Outcome(Verdict.AGAIN, status=503, retry_after=seconds)
    assert wait_after(outcome, 1, spec(retry_after_max=5.0), delivery_settings()) <= 5.0


@given(
    st.integers(200, 599), st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=400))), st.booleans()
)
def test_any_answer_is_judged(status, headers, wants_reply):
    later = [(b"Retry-After", b"9" * 400), (b"content-length", b"9" * 400)]
    outcome = judge(Answer(status, [*headers, *later], b"{" * 100, whole=True), wants_reply=wants_reply)
    assert (outcome.verdict is Verdict.DONE) == (status < 300)


@given(TEXTS)
def test_a_web_hooks_rate_is_kept_or_refused(text):
    said = [(b"WebHook-Allowed-Origin", b"*"), (b"WebHook-Allowed-Rate", text.encode("latin-1", "replace"))]
    consent = webhooks._read(Answer(200, said, b"", whole=True), "here", None, may_call=False)
    assert consent.refused or 0 <= consent.interval <= 60


@pytest.mark.parametrize("rate", ["9" * 400, "9" * 5000, "0" * 400 + "1"])
def test_a_web_hooks_rate_of_hundreds_of_digits_is_a_rate(rate):
    said = [(b"WebHook-Allowed-Origin", b"*"), (b"WebHook-Allowed-Rate", rate.encode())]
    consent = webhooks._read(Answer(200, said, b"", whole=True), "here", None, may_call=False)
    assert (consent.refused, consent.interval) == (
        "",
        60.0 if rate.endswith("1") else pytest.approx(0, abs=1e-6),
    )


@given(st.one_of(NUMBERS, TEXTS, st.none(), st.booleans(), st.lists(st.integers())))
def test_a_lifetime_is_bounded_or_refused(value):
    with suppress(RefreshFailed):
        assert 0 < _lifetime(value) < math.inf


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"a":' * 12_000,
        b'{"access_token": "t", "expires_in": ' + b"9" * 400 + b"}",
        b'{"access_token": "t", "expires_in": ' + b"9" * 5000 + b"}",
        b'{"access_token": "t", "expires_in": -1e400}',
        b'{"access_token": "t", "expires_in": "nan"}',
        b'{"access_token": {"access_token": []}}',
        b"\xff\xfe",
    ],
)
def test_any_token_answer_is_a_credential_or_says_what_is_wrong_with_it(body):
    document = _read(body)
    assert str(_failure(400, document))
    with suppress(RefreshFailed):
        refreshed = _refreshed(CREDENTIAL, document, 1000.0)
        assert 1000.0 < refreshed.credential.token.expires < math.inf


@given(st.recursive(st.none() | st.text() | NUMBERS.filter(lambda each: each == each), st.lists))
def test_any_document_is_read(document):
    try:
        body = msgspec.json.encode(document)
    except (OverflowError, msgspec.MsgspecError):
        return
    assert isinstance(_read(body), dict)
