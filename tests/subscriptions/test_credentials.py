"""Credentials, signing keys and sensitive headers of a proposal: what is taken, what is refused, what is shown."""

import base64
import itertools
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headrace.errors import InvalidSubscription
from headrace.secrets.credential import Plain, Refreshable, Token
from headrace.secrets.credential_document import write_time
from headrace.secrets.secrets import Secrets, put_back
from headrace.subscriptions.subscription import parse_subscription

SINK = "https://example.com/in"
LATER = write_time(int(time.time()) + 3600)
PLAIN = {"credentialType": "PLAIN", "identifier": "somebody", "secret": "hunter2"}
ACCESS = {
    "credentialType": "ACCESSTOKEN",
    "accessToken": "at-hunter2",
    "accessTokenExpiresUtc": LATER,
    "accessTokenType": "Bearer",
}
REFRESH = ACCESS | {
    "credentialType": "REFRESHTOKEN",
    "refreshToken": "rt-hunter2",
    "refreshTokenEndpoint": "https://id.example.com/token",
}
SECRET_WORDS = ("hunter2", "somebody")


def parse(credential=None, **properties):
    document = {"sink": SINK, **properties}
    return parse_subscription(document if credential is None else document | {"sinkCredential": credential})


def faults(credential=None, **properties):
    with pytest.raises(InvalidSubscription) as caught:
        parse(credential, **properties)
    assert not any(word in str(caught.value) for word in SECRET_WORDS)
    return dict(caught.value.faults)


@pytest.mark.parametrize("given", [PLAIN, ACCESS, REFRESH], ids=lambda each: each["credentialType"])
def test_nothing_secret_is_shown(given):
    subscription = parse(given)
    shown = subscription.document()["sinkCredential"]
    assert shown.keys() == given.keys()
    for text in (
        str(shown),
        repr(subscription),
        repr(subscription.secrets),
        repr(subscription.secrets.credential),
    ):
        assert not any(word in text for word in SECRET_WORDS)
    assert all(shown[name] == "***" for name in given if any(word in given[name] for word in SECRET_WORDS))
    assert subscription.has_secrets


def test_what_is_read():
    assert parse(PLAIN).secrets.credential == Plain("somebody", "hunter2")
    token = parse(ACCESS).secrets.credential
    assert isinstance(token, Token)
    assert (token.type, token.value, write_time(token.expires)) == ("Bearer", "at-hunter2", LATER)
    assert parse(REFRESH).secrets.credential == Refreshable(
        token, "rt-hunter2", "https://id.example.com/token"
    )
    assert not parse().has_secrets
    assert not parse().secrets


def test_newer_drafts_write_lower_case():
    lowered = {name.lower(): value for name, value in REFRESH.items()}
    old, new = parse(REFRESH), parse(sinkcredential=lowered)
    assert new.secrets == old.secrets
    assert new.document()["sinkCredential"] == old.document()["sinkCredential"]
    assert "sinkcredential" in faults(PLAIN, sinkcredential=lowered)
    assert "sinkCredential" in faults(PLAIN | {"Identifier": "somebody"})


@pytest.mark.parametrize("given", [PLAIN, ACCESS, REFRESH], ids=lambda each: each["credentialType"])
def test_every_member_is_required(given):
    for name in given:
        wrong = faults({key: value for key, value in given.items() if key != name})
        assert list(wrong) == [f"sinkCredential.{name}"]
        assert "required" in wrong[f"sinkCredential.{name}"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ([], "sinkCredential"),
        ("hunter2", "sinkCredential"),
        ({"credentialType": "plain"}, "sinkCredential.credentialType"),
        ({"credentialType": ["PLAIN"]}, "sinkCredential.credentialType"),
        (PLAIN | {"password": "hunter2"}, "sinkCredential.password"),
        (PLAIN | {"accessToken": "hunter2"}, "sinkCredential.accessToken"),
        (PLAIN | {"secret": ""}, "sinkCredential.secret"),
        (PLAIN | {"secret": 7}, "sinkCredential.secret"),
        (PLAIN | {"secret": "***"}, "sinkCredential.secret"),
        (PLAIN | {"secret": "hunter2\r\nHost: x"}, "sinkCredential.secret"),
        (PLAIN | {"secret": "hunter2" * 5000}, "sinkCredential.secret"),
        (PLAIN | {"identifier": "some:body"}, "sinkCredential.identifier"),
        (ACCESS | {"accessToken": "at hunter2"}, "sinkCredential.accessToken"),
        (ACCESS | {"accessTokenType": "Bearer x"}, "sinkCredential.accessTokenType"),
        (ACCESS | {"accessTokenExpiresUtc": "tomorrow"}, "sinkCredential.accessTokenExpiresUtc"),
        (ACCESS | {"accessTokenExpiresUtc": 1893456000}, "sinkCredential.accessTokenExpiresUtc"),
        (ACCESS | {"accessTokenExpiresUtc": "2001-01-01T00:00:00Z"}, "sinkCredential.accessTokenExpiresUtc"),
        (REFRESH | {"refreshTokenEndpoint": "ftp://x/hunter2"}, "sinkCredential.refreshTokenEndpoint"),
        (REFRESH | {"refreshTokenEndpoint": "https://a:hunter2@x/"}, "sinkCredential.refreshTokenEndpoint"),
    ],
)
def test_bad_credentials(given, path):
    assert list(faults(given)) == [path]


def test_a_token_that_can_be_refreshed_may_have_expired():
    assert parse(REFRESH | {"accessTokenExpiresUtc": "2001-01-01T00:00:00Z"})


def test_credentials_have_to_go_with_the_settings():
    wrong = faults(PLAIN, protocolsettings={"headers": {"Authorization": "Bearer hunter2"}})
    assert list(wrong) == ["protocolsettings.headers.Authorization"]
    kafka = {"sink": "kafka://a/t", "protocol": "KAFKA"}
    for mechanism, credential in itertools.product(
        ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"], [PLAIN, ACCESS, REFRESH]
    ):
        proposal = {**kafka, "protocolsettings": {"saslmechanism": mechanism}}
        if (mechanism == "OAUTHBEARER") == (credential is not PLAIN):
            assert parse(credential, **proposal).has_secrets
        else:
            assert list(faults(credential, **proposal)) == ["protocolsettings.saslmechanism"]


@pytest.mark.parametrize("given", [PLAIN, ACCESS, REFRESH], ids=lambda each: each["credentialType"])
def test_secrets_survive_the_way_through_the_safe(given):
    secrets = parse(given, protocolsettings={"signing": "generate", "headers": {"x-api-key": "k"}}).secrets
    assert Secrets.from_json(secrets.to_json()) == secrets


def test_sensitive_headers_are_masked():
    headers = {
        "X-Api-Key": "hunter2",
        "Cookie": "hunter2",
        "authorization": "hunter2",
        "x-SECRET": "hunter2",
        "x-team": "shop",
    }
    subscription = parse(protocolsettings={"headers": headers})
    masked = {name: "***" for name in headers if name != "x-team"}
    assert subscription.protocolsettings["headers"] == {**masked, "x-team": "shop"}
    assert list(subscription.protocolsettings["headers"]) == list(headers)
    assert put_back(subscription.protocolsettings, subscription.secrets)["headers"] == headers
    assert "hunter2" not in repr(subscription)
    assert list(faults(protocolsettings={"headers": masked})) == [
        f"protocolsettings.headers.{name}" for name in masked
    ]


def whsec(length):
    return "whsec_" + base64.b64encode(bytes(range(length))).decode()


def test_signing_keys_are_described():
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    short = "whsk_" + base64.b64encode(private.private_bytes_raw()).decode()
    long = "whsk_" + base64.b64encode(private.private_bytes_raw() + public).decode()
    subscription = parse(protocolsettings={"signing": [long, whsec(24), whsec(64)]})
    ed25519, one, other = subscription.protocolsettings["signing"]
    assert ed25519["kind"] == "ed25519"
    assert ed25519["publicKey"] == "whpk_" + base64.b64encode(public).decode()
    assert (one["kind"], other["kind"]) == ("hmac", "hmac")
    assert one["id"] != other["id"]
    assert subscription.secrets.signing == (short, whsec(24), whsec(64))
    assert whsec(24)[6:] not in repr(subscription)
    assert "signing" not in put_back(subscription.protocolsettings, subscription.secrets)


@pytest.mark.parametrize("length", [0, 16, 23, 65])
def test_weak_or_long_keys_are_refused(length):
    assert list(faults(protocolsettings={"signing": [whsec(24), whsec(length)]})) == [
        "protocolsettings.signing[1]"
    ]


def test_broken_keys_are_refused_and_not_repeated():
    mixed = (
        "whsk_" + base64.b64encode(bytes(64)).decode()
    )  # the second half is not the first one's public key
    for key in (
        "hunter2",
        "whsec_hunter2!",
        "whsk_" + whsec(24)[6:],
        mixed,
        "whpk_" + whsec(32)[6:],
        7,
        None,
    ):
        assert list(faults(protocolsettings={"signing": [key]})) == ["protocolsettings.signing[0]"]
    assert list(faults(protocolsettings={"signing": [whsec(24)] * 11})) == ["protocolsettings.signing"]


@pytest.mark.parametrize(("wish", "prefix"), [("generate", "whsec_"), ("generate-ed25519", "whsk_")])
def test_keys_are_generated(wish, prefix):
    keys = {parse(protocolsettings={"signing": wish}).secrets.signing for _ in range(3)}
    assert len(keys) == 3
    assert all(
        key.startswith(prefix) and len(base64.b64decode(key.partition("_")[2])) == 32 for (key,) in keys
    )
