"""Tokens of a real little OpenID provider: what is accepted, and everything that isn't."""

import base64
import hashlib
import hmac
import json
import time

import pytest
from tests.auth.provider import AUDIENCE, Provider

from headrace.auth.roles import Role
from headrace.auth.settings import Issuer
from headrace.auth.tokens.issuer_keys import KeySet
from headrace.auth.tokens.token import Tokens, grants_of
from headrace.errors import IssuerUnavailable, Unauthenticated


@pytest.fixture(scope="module")
def made():
    return Provider()


@pytest.fixture
async def provider(made):
    made.fetches, made.status, made.claimed_issuer = 0, 200, None
    async with made.served():
        yield made


def _tokens(provider, **settings):
    return Tokens([Issuer(provider.url, AUDIENCE, **settings)], leeway=5.0)


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_a_token_of_each_kind_of_key_says_who_it_is(provider, algorithm):
    token = provider.token(algorithm, headrace={"shop": ["publish"]})
    holder = await _tokens(provider).holder(token)
    assert holder.id == f"token:{provider.url}#ada"
    assert holder.may(Role.PUBLISH, "shop")
    assert not holder.may(Role.SUBSCRIBE, "shop")
    assert not holder.may(Role.PUBLISH, "bank")


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": time.time() - 60}, "has expired"),
        ({"nbf": time.time() + 86_400}, "not valid yet"),
        ({"iat": time.time() + 86_400}, "not valid yet"),
        ({"aud": "another"}, "somebody else"),
        ({"aud": None}, "lacks a claim"),
        ({"exp": None}, "lacks a claim"),
        ({"sub": None}, "lacks a claim"),
        ({"iss": "https://elsewhere.example"}, "not trusted"),
        ({"iss": None}, "who issued it"),
        ({"exp": float("inf")}, "wrong"),
        ({"exp": float("nan")}, "wrong"),
        ({"exp": [1]}, "wrong"),
        ({"nbf": float("inf")}, "wrong"),
        ({"sub": {"a": 1}}, "wrong"),
    ],
)
async def test_claims_that_are_wrong_are_refused(provider, claims, reason):
    with pytest.raises(Unauthenticated, match=reason):
        await _tokens(provider).holder(provider.token(**claims))


async def test_an_expiry_of_hundreds_of_digits_is_later_than_anything(provider):
    tokens, token = _tokens(provider), provider.token(exp=10**400)
    assert await tokens.holder(token) == tokens.remembered(token)


@pytest.mark.parametrize("claims", [{"exp": float("inf")}, {"nbf": float("inf")}, {"iat": float("nan")}])
async def test_claims_that_are_no_times_are_refused(provider, claims):
    with pytest.raises(Unauthenticated, match="the token is wrong"):
        await _tokens(provider).holder(provider.token(**claims))


async def test_claims_that_lie_too_deep_are_refused(provider):
    head, _, signature = provider.token().split(".")
    deep = base64.urlsafe_b64encode(b'{"iss":' + b"[" * 10_000).rstrip(b"=").decode()
    with pytest.raises(Unauthenticated, match="neither an API key nor a token"):
        await _tokens(provider).holder(f"{head}.{deep}.{signature}")


@pytest.mark.parametrize("expires", [10**400, "99999999999", 2**63])
async def test_a_token_may_be_good_for_ever(provider, expires):
    tokens, token = _tokens(provider), provider.token(exp=expires)
    assert (await tokens.holder(token)).id
    assert tokens.remembered(token) is not None


@pytest.mark.parametrize(
    "claims",
    [b"[" * 5000, b'{"iss":' * 3000, b'{"exp":' + b"9" * 5000 + b"}", b"[]", b"1", b"null", b"{\xff}"],
)
async def test_claims_that_cant_be_read_are_no_token(provider, claims):
    part = base64.urlsafe_b64encode(claims).rstrip(b"=").decode()
    head = base64.urlsafe_b64encode(b'{"alg":"RS256"}').rstrip(b"=").decode()
    with pytest.raises(Unauthenticated, match=r"neither an API key nor a token|longer than"):
        await _tokens(provider).holder(f"{head}.{part}.AAAA")


async def test_clocks_may_be_a_little_wrong(provider):
    tokens = _tokens(provider)
    await tokens.holder(provider.token(exp=time.time() - 2))
    await tokens.holder(provider.token(nbf=time.time() + 2))


def _part(document):
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=")


def _claims(provider):
    now = int(time.time())
    return {"iss": provider.url, "aud": AUDIENCE, "sub": "eve", "exp": now + 60, "headrace": {"*": ["admin"]}}


async def test_no_algorithm_is_no_way_in(provider):
    for alg in ("none", "None", "", None):
        token = b".".join([_part({"alg": alg, "typ": "JWT"}), _part(_claims(provider)), b""]).decode()
        with pytest.raises(Unauthenticated):
            await _tokens(provider).holder(token)


@pytest.mark.parametrize("secret", ["pem", "modulus"])
async def test_a_public_key_is_no_shared_secret(provider, secret):
    """Signed with HMAC and the public key as its secret: what a verifier does that believes the header."""
    key = provider.public_pem("RS256") if secret == "pem" else json.dumps(provider.document()).encode()
    signed = b".".join([_part({"alg": "HS256", "kid": provider.kid("RS256")}), _part(_claims(provider))])
    signature = base64.urlsafe_b64encode(hmac.digest(key, signed, hashlib.sha256)).rstrip(b"=")
    with pytest.raises(Unauthenticated, match="algorithm"):
        await _tokens(provider).holder((signed + b"." + signature).decode())


async def test_a_key_of_another_kind_than_the_token_says_is_refused(provider):
    token = provider.token("ES256", headers={"kid": provider.kid("RS256")})
    with pytest.raises(Unauthenticated, match="doesn't publish"):
        await _tokens(provider).holder(token)


async def test_an_algorithm_that_was_not_allowed_is_refused(provider):
    with pytest.raises(Unauthenticated, match="algorithm"):
        await _tokens(provider, algorithms=("ES256",)).holder(provider.token("RS256"))


async def test_a_signature_of_somebody_else_is_refused(provider):
    forged = Provider()
    forged.url = provider.url
    with pytest.raises(Unauthenticated, match="signature"):
        await _tokens(provider).holder(forged.token(headers={"kid": provider.kid("RS256")}))


@pytest.mark.parametrize("text", ["x", "a.b.c", "é", "x" * 20_000])
async def test_what_is_no_token_is_refused(provider, text):
    with pytest.raises(Unauthenticated):
        await _tokens(provider).holder(text)


async def test_a_good_token_is_remembered_until_it_expires(provider, monkeypatch):
    tokens, token = _tokens(provider), provider.token()
    assert tokens.remembered(token) is None
    holder = await tokens.holder(token)
    assert tokens.remembered(token) == holder
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert tokens.remembered(token) is None


async def test_new_keys_are_got_when_they_are_needed_but_not_all_the_time(provider):
    issuer = Issuer(provider.url, AUDIENCE)
    keys = KeySet(issuer, pause_seconds=0.0)
    await keys.find(provider.kid("RS256"), "RS256")
    await keys.find(provider.kid("ES256"), "ES256")
    assert provider.fetches == 1, "they are remembered"
    provider.rotate("RS256")
    await keys.find(provider.kid("RS256"), "RS256")
    assert provider.fetches == 2
    patient = KeySet(issuer)
    for _ in range(20):
        with pytest.raises(Unauthenticated, match="doesn't publish"):
            await patient.find("made-up", "RS256")
    assert provider.fetches == 3, "whoever makes up ids doesn't make us ask each time"


async def test_a_key_that_was_withdrawn_is_good_no_more(provider):
    keys = KeySet(Issuer(provider.url, AUDIENCE), pause_seconds=0.0)
    old = provider.kid("EdDSA")
    await keys.find(old, "EdDSA")
    provider.rotate("EdDSA")
    await keys.find(provider.kid("EdDSA"), "EdDSA")
    with pytest.raises(Unauthenticated):
        await keys.find(old, "EdDSA")


async def test_a_provider_that_is_down_is_said_to_be(provider):
    provider.status = 500
    with pytest.raises(IssuerUnavailable, match="status 500"):
        await _tokens(provider).holder(provider.token())


async def test_keys_that_are_known_stay_good_while_the_provider_is_down(provider):
    keys = KeySet(Issuer(provider.url, AUDIENCE), pause_seconds=0.0)
    await keys.find(provider.kid("RS256"), "RS256")
    provider.status = 500
    with pytest.raises(Unauthenticated):
        await keys.find("new", "RS256")
    await keys.find(provider.kid("RS256"), "RS256")


async def test_a_discovery_document_of_somebody_else_is_not_believed(provider):
    provider.claimed_issuer = "https://elsewhere.example"
    with pytest.raises(IssuerUnavailable, match=r"elsewhere\.example"):
        await _tokens(provider).holder(provider.token())


async def test_keys_may_come_from_a_file_or_an_address(provider, tmp_path):
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(provider.document()))
    await _tokens(provider, jwks=str(file)).holder(provider.token())
    assert provider.fetches == 0
    await _tokens(provider, jwks=f"{provider.url}/keys").holder(provider.token())
    assert provider.fetches == 1


async def test_keys_are_not_fetched_without_tls_from_another_machine(provider):
    with pytest.raises(IssuerUnavailable, match="not https"):
        await _tokens(provider, jwks="http://keys.example/").holder(provider.token())


@pytest.mark.parametrize(
    ("settings", "claims", "expected"),
    [
        (
            {},
            {"headrace": {"shop": ["publish", "fly"], "*": ["subscribe"]}},
            {"shop": ["publish"], "*": ["subscribe"]},
        ),
        ({}, {"headrace": ["admin"]}, {}),
        (
            {},
            {"headrace": {"Not A Label": ["admin"], "shop": "publish subscribe"}},
            {"shop": ["publish", "subscribe"]},
        ),
        (
            {"claim": "https://shop.example/grants"},
            {"https://shop.example/grants": {"a": ["admin"]}},
            {"a": ["admin"]},
        ),
        (
            {"roles_claim": "realm_access.roles", "role_prefix": "hr-", "namespaces_claim": "tenants"},
            {"realm_access": {"roles": ["hr-publish", "admin", 7]}, "tenants": ["shop", "bank", 3]},
            {"shop": ["publish"], "bank": ["publish"]},
        ),
        (
            {"roles_claim": "scope", "namespaces_claim": "tenant"},
            {"scope": "openid publish", "tenant": "shop"},
            {"shop": ["publish"]},
        ),
        ({"roles_claim": "roles", "namespaces_claim": "tenant"}, {"roles": ["admin"]}, {}),
    ],
)
def test_claims_become_roles_as_the_settings_say(settings, claims, expected):
    grants = grants_of(claims, Issuer("https://issuer.example", AUDIENCE, **settings))
    assert {namespace: sorted(roles) for namespace, roles in grants.items()} == expected
