"""Credentials as the dispatcher uses them, against a token endpoint on a real socket."""

import asyncio
import time
from collections.abc import Callable
from contextlib import asynccontextmanager, closing
from ipaddress import ip_network

import pytest
from aiohttp import web
from tests.opening import opening
from tests.subscriptions.stores import proposal
from tests.subscriptions.test_credentials import PLAIN

from headrace.database.database import Database
from headrace.delivery.protocols.http.token_endpoint import TokenEndpoint
from headrace.delivery.sinks.credentials import Credentials
from headrace.delivery.sinks.guard import Guard
from headrace.errors import CredentialUnusable, SecretsLocked
from headrace.events.positions import LogPosition
from headrace.secrets.credential import Plain, Token
from headrace.secrets.credential_document import write_time
from headrace.secrets.keys import KeyFile
from headrace.subscriptions.secret_changes import changed
from headrace.subscriptions.store.secrets import SecretStore
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.updates import updated

LOOPBACK = [ip_network("127.0.0.0/8")]


class Issuer:
    """A token endpoint that accepts each refresh token once, like those that rotate them."""

    def __init__(self):
        self.url = ""
        self.valid = "rt-0"
        self.asked: list[dict[str, str]] = []
        self.issued = 0
        self.lifetime: object = 3600
        self.fault: Callable[[], web.Response] | None = None
        self.open = asyncio.Event()
        self.open.set()

    async def answer(self, request):
        form = dict(await request.post())
        self.asked.append(form | {"content-type": request.content_type})
        await self.open.wait()
        if self.fault is not None:
            return self.fault()
        if form.get("grant_type") != "refresh_token" or form.get("refresh_token") != self.valid:
            return web.json_response({"error": "invalid_grant", "error_description": self.valid}, status=400)
        self.issued += 1
        self.valid = f"rt-{self.issued}"
        token = {"access_token": f"at-{self.issued}", "token_type": "Bearer", "refresh_token": self.valid}
        return web.json_response(token | ({} if self.lifetime is None else {"expires_in": self.lifetime}))


@pytest.fixture
async def issuer():
    app, made = web.Application(), Issuer()
    app.router.add_post("/token", made.answer)
    app.router.add_get("/token", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/token"
    yield made
    made.open.set()
    await runner.cleanup()


class Harness:
    def __init__(self, url, folder):
        self.url, self.folder = url, folder
        self.store = Store(Database(url))
        self.secret_store = SecretStore(Database(url), KeyFile(folder / "secrets.key"))

    def close(self):
        self.store.database.close()
        self.secret_store.database.close()

    def subscribe(self, credential=None, **properties):
        given = {} if credential is None else {"sinkCredential": credential}
        wish = proposal(**given, **properties)
        return self.store.create(wish, lambda: LogPosition.at(1), self.secret_store.writing(wish))

    @asynccontextmanager
    async def credentials(self, *, ahead=60.0, allow=LOOPBACK, timeout=5.0):
        """As another start, or another dispatcher, would have them."""
        with (
            closing(Guard(allow)) as guard,
            opening(SecretStore, self.url, KeyFile(self.folder / "secrets.key")) as secret_store,
        ):
            made = Credentials(secret_store, TokenEndpoint(guard, timeout=timeout), ahead)
            try:
                yield made
            finally:
                await made.close()


@pytest.fixture
def harness(database_url, tmp_path):
    made = Harness(database_url, tmp_path)
    yield made
    made.close()


def access(seconds):
    return {
        "credentialType": "ACCESSTOKEN",
        "accessToken": "at-0",
        "accessTokenExpiresUtc": write_time(time.time() + seconds),
        "accessTokenType": "Bearer",
    }


def refresh(issuer, seconds):
    more = {"credentialType": "REFRESHTOKEN", "refreshToken": "rt-0", "refreshTokenEndpoint": issuer.url}
    return access(seconds) | more


async def eventually(condition):
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_nothing_is_asked_for_where_there_is_nothing(harness):
    subscription = harness.subscribe()
    async with harness.credentials() as credentials:
        assert await credentials.current(subscription) is None
        assert credentials.signing(subscription) == ()
        assert credentials.settings(subscription) is subscription.protocolsettings
    assert not (harness.folder / "secrets.key").exists()


async def test_what_was_sealed_is_ready_for_use(harness):
    given = {"headers": {"x-api-key": "k", "x-team": "t"}, "signing": "generate"}
    subscription = harness.subscribe(
        {"credentialType": "PLAIN", "identifier": "i", "secret": "s"}, protocolsettings=given
    )
    async with harness.credentials() as credentials:
        first = await credentials.current(subscription)
        assert first == Plain("i", "s")
        assert await credentials.current(subscription) is first
        assert credentials.settings(subscription)["headers"] == given["headers"]
        assert "signing" not in credentials.settings(subscription)
        assert credentials.settings(subscription) is credentials.settings(subscription)
        assert credentials.signing(subscription)[0].startswith("whsec_")
        assert not credentials.invalidate(subscription.id)
        assert all(word not in repr(credentials._held) for word in ("whsec_", "'k'", "'s'"))


async def test_headers_alone_are_opened_too(harness):
    subscription = harness.subscribe(protocolsettings={"headers": {"authorization": "Bearer x"}})
    async with harness.credentials() as credentials:
        assert await credentials.current(subscription) is None
        assert credentials.settings(subscription)["headers"] == {"authorization": "Bearer x"}


async def test_an_access_token_is_never_sent_after_its_time(harness, monkeypatch):
    subscription = harness.subscribe(access(60))
    async with harness.credentials() as credentials:
        assert (await credentials.current(subscription)).value == "at-0"
        later = time.time() + 60
        monkeypatch.setattr(time, "time", lambda: later)
        with pytest.raises(CredentialUnusable, match=r"the access token expired at 20\d\d-"):
            await credentials.current(subscription)


async def test_without_the_key_deliveries_wait_and_then_go_on(harness):
    subscription = harness.subscribe(access(3600))
    key = harness.folder / "secrets.key"
    away = key.rename(harness.folder / "away")
    async with harness.credentials() as credentials:
        with pytest.raises(SecretsLocked, match="which is not in"):
            await credentials.current(subscription)
        away.rename(key)
        assert (await credentials.current(subscription)).value == "at-0"


async def test_a_token_is_refreshed_before_it_expires(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, 30))
    async with harness.credentials(ahead=60) as credentials:
        assert (await credentials.current(subscription)).value == "at-0"  # deliveries go on meanwhile
        await eventually(lambda: credentials._held[subscription.id].refreshing is None)
        token = await credentials.current(subscription)
        assert token.value == "at-1"
        assert token.expires - time.time() > 3500
        assert await credentials.current(subscription) is token
    assert issuer.asked == [
        {
            "grant_type": "refresh_token",
            "refresh_token": "rt-0",
            "content-type": "application/x-www-form-urlencoded",
        }
    ]


async def test_a_token_that_has_time_is_left_alone(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, 3600))
    async with harness.credentials(ahead=60) as credentials:
        assert (await credentials.current(subscription)).value == "at-0"
    assert issuer.asked == []


async def test_many_deliveries_ask_once(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    issuer.open.clear()
    async with harness.credentials() as credentials:
        asking = [asyncio.create_task(credentials.current(subscription)) for _ in range(50)]
        await eventually(lambda: issuer.asked)
        issuer.open.set()
        tokens = await asyncio.gather(*asking)
    assert {token.value for token in tokens} == {"at-1"}
    assert len(issuer.asked) == 1


async def test_a_restart_goes_on_with_the_rotated_token(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    async with harness.credentials() as credentials:
        assert (await credentials.current(subscription)).value == "at-1"
    async with harness.credentials() as credentials:
        assert (await credentials.current(subscription)).value == "at-1"
        assert credentials.invalidate(subscription.id)
        assert (await credentials.current(subscription)).value == "at-2"
    async with harness.credentials() as credentials:
        assert (await credentials.current(subscription)).value == "at-2"
    assert len(issuer.asked) == 2
    assert harness.secret_store.statuses()[subscription.id].expires > write_time(time.time() + 3000)


async def test_a_stop_waits_until_the_answer_is_stored(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    issuer.open.clear()
    async with harness.credentials() as credentials:
        asking = asyncio.create_task(credentials.current(subscription))
        await eventually(lambda: issuer.asked)
        asking.cancel()
        asyncio.get_running_loop().call_later(0.2, issuer.open.set)
    async with harness.credentials() as credentials:
        assert (await credentials.current(subscription)).value == "at-1"
    assert len(issuer.asked) == 1


async def test_other_secrets_that_change_meanwhile_lose_no_token(harness, issuer):
    """The endpoint accepts the old refresh token no more: without the new one the subscription would be cut off."""
    subscription = harness.subscribe(refresh(issuer, -10))
    issuer.open.clear()
    async with harness.credentials() as credentials, harness.credentials() as other:
        asking = asyncio.create_task(credentials.current(subscription))
        await eventually(lambda: issuer.asked)
        signing = harness.secret_store.change(
            subscription.id, lambda old, secrets: changed(old, secrets, {"signing": "generate"})
        ).secrets.signing
        waiting = asyncio.create_task(other.current(harness.store.get(subscription.id)))
        await asyncio.sleep(0.3)
        issuer.open.set()
        assert (await asking).value == (await waiting).value == "at-1"
    assert len(issuer.asked) == 1
    async with harness.credentials() as credentials:
        now = harness.store.get(subscription.id)
        assert (await credentials.current(now)).value == "at-1"
        assert credentials.signing(now) == signing
        assert credentials.invalidate(subscription.id)
        assert (await credentials.current(now)).value == "at-2", "the new refresh token was kept"


async def test_two_dispatchers_use_a_refresh_token_once(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    async with harness.credentials() as one, harness.credentials() as other:
        issuer.open.clear()
        asking = [asyncio.create_task(each.current(subscription)) for each in (one, other, one, other)]
        await eventually(lambda: issuer.asked)
        await asyncio.sleep(0.3)
        issuer.open.set()
        tokens = await asyncio.gather(*asking)
    assert {token.value for token in tokens} == {"at-1"}
    assert len(issuer.asked) == 1


async def test_an_endpoint_that_is_down_is_asked_again(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, 30))
    issuer.fault = lambda: web.Response(status=503, text="rt-0")
    async with harness.credentials() as credentials:
        assert (await credentials.current(subscription)).value == "at-0"
        await eventually(lambda: harness.secret_store.statuses()[subscription.id].problem)
        assert (await credentials.current(subscription)).value == "at-0"  # as long as it lives
        asked = len(issuer.asked)
        for _ in range(20):
            assert (await credentials.current(subscription)).value == "at-0"
        assert len(issuer.asked) == asked  # not once for each delivery
        assert credentials.invalidate(subscription.id)
        with pytest.raises(CredentialUnusable, match="the token endpoint answered with status 503") as caught:
            await credentials.current(subscription)
        assert caught.value.retry_after > 0
        issuer.fault = None
        credentials._held[subscription.id].next_try = 0.0  # the pause is over
        assert (await credentials.current(subscription)).value.startswith("at-")
        assert (await credentials.current(subscription)).value != "at-0"
    assert harness.secret_store.statuses()[subscription.id].problem is None


async def test_a_refused_refresh_token_is_told_and_not_repeated(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    issuer.valid = "another"
    async with harness.credentials() as credentials:
        for _ in range(2):
            with pytest.raises(
                CredentialUnusable, match=r"refused the refresh token \(invalid_grant\)"
            ) as caught:
                await credentials.current(subscription)
            assert "another" not in str(caught.value)
            credentials._held[subscription.id].next_try = 0.0
        assert len(issuer.asked) == 1
    assert "invalid_grant" in harness.secret_store.statuses()[subscription.id].problem


FAULTS = [
    (lambda: web.Response(status=200, text="hello"), "without a usable access_token"),
    (lambda: web.json_response(["at"]), "without a usable access_token"),
    (lambda: web.json_response({"access_token": "a b"}), "without a usable access_token"),
    (
        lambda: web.json_response({"access_token": "at", "token_type": "Bearer\r\nX: y"}),
        "without a usable token_type",
    ),
    (lambda: web.json_response({"access_token": "at", "refresh_token": 7}), "without a usable refresh_token"),
    (lambda: web.json_response({"access_token": "at", "expires_in": 0}), "without a usable expires_in"),
    (lambda: web.json_response({"access_token": "at", "expires_in": "soon"}), "without a usable expires_in"),
    (lambda: web.json_response({"access_token": "at", "padding": "x" * 100_000}), "more than 65536 bytes"),
    (lambda: web.json_response({"error": "rt-0"}, status=400), "answered with status 400"),
    (lambda: web.Response(status=302, headers={"location": "/token"}), "answered with status 302"),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
async def test_answers_that_can_t_be_used(tmp_path, issuer, number):
    harness = Harness(f"sqlite:///{tmp_path}/store.db", tmp_path)
    issuer.fault, problem = FAULTS[number]
    subscription = harness.subscribe(refresh(issuer, -10))
    async with harness.credentials() as credentials:
        with pytest.raises(CredentialUnusable, match=problem) as caught:
            await credentials.current(subscription)
        assert "rt-0" not in str(caught.value)
    assert len(issuer.asked) == 1
    harness.close()


async def test_tokens_of_a_short_life_are_not_refreshed_all_the_time(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    issuer.lifetime = "30"
    async with harness.credentials(ahead=60) as credentials:
        for _ in range(20):
            assert (await credentials.current(subscription)).value == "at-1"
    assert len(issuer.asked) == 1


async def test_a_token_that_the_sink_refuses_is_traded_once(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, 3600))
    async with harness.credentials() as credentials:
        assert not credentials.invalidate(subscription.id)  # nothing was used yet
        await credentials.current(subscription)
        assert credentials.invalidate(subscription.id)
        assert (await credentials.current(subscription)).value == "at-1"
        assert not credentials.invalidate(subscription.id)  # it isn't the token
        assert (await credentials.current(subscription)).value == "at-1"
    assert len(issuer.asked) == 1


async def test_a_subscription_that_changed_is_opened_again(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, 3600))
    async with harness.credentials() as credentials:
        first = await credentials.current(subscription)
        opened = harness.secret_store.open(subscription.id)
        same = harness.store.get(subscription.id)
        assert await credentials.current(same) is first
        given = Token("Bearer", "at-new", time.time() + 60)
        harness.secret_store.renew(subscription.id, opened.secrets.credential, given)
        assert await credentials.current(same) is first
        assert (await credentials.current(harness.store.get(subscription.id))).value == "at-new"


def updating(sink, **properties):
    document = {"sink": sink, "protocolsettings": {"headers": {"x-token": "new"}, "signing": "generate"}}
    return lambda old, secrets: updated(old, secrets, document | properties)


async def test_secrets_for_another_sink_are_not_opened_for_this_one(harness, issuer):
    """A dispatcher hears of a change a moment later than the secret store."""
    before = harness.subscribe(refresh(issuer, 3600))
    async with harness.credentials() as credentials, harness.credentials() as other:
        await credentials.current(before)
        harness.secret_store.change(before.id, updating("https://example.org/elsewhere"))
        for each in (credentials, other):
            stale = harness.store.get(before.id)
            object.__setattr__(stale, "sink", before.sink)
            with pytest.raises(CredentialUnusable, match="another sink at this moment"):
                await each.current(stale)
        now = harness.store.get(before.id)
        assert await credentials.current(now) is None
        assert credentials.settings(now)["headers"] == {"x-token": "new"}
        assert len(credentials.signing(now)) == 1
        for ask in (credentials.settings, credentials.signing):
            with pytest.raises(CredentialUnusable, match="was changed at this moment"):
                ask(before)


async def test_secrets_that_were_taken_away_are_not_used_any_more(harness):
    subscription = harness.subscribe(PLAIN)
    async with harness.credentials() as credentials:
        harness.secret_store.change(subscription.id, updating("https://example.com/in"))
        held = harness.store.get(subscription.id)
        await credentials.current(held)
        assert credentials.settings(held)["headers"] == {"x-token": "new"}
        harness.secret_store.change(subscription.id, updating("https://example.org/", protocolsettings={}))
        bare = harness.store.get(subscription.id)
        assert await credentials.current(bare) is None
        assert (credentials.signing(bare), credentials.settings(bare)) == ((), bare.protocolsettings)


async def test_the_endpoint_is_reached_through_the_guard(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    async with harness.credentials(allow=[]) as credentials:
        with pytest.raises(CredentialUnusable, match=r"the token endpoint can't be used: 127\.0\.0\.1 is"):
            await credentials.current(subscription)
    named = harness.subscribe(
        refresh(issuer, -10) | {"refreshTokenEndpoint": issuer.url.replace("127.0.0.1", "localhost")}
    )
    async with harness.credentials(allow=[]) as credentials:
        with pytest.raises(CredentialUnusable, match="the token endpoint can't be used"):
            await credentials.current(named)
    assert issuer.asked == []


async def test_an_endpoint_that_hangs_or_is_gone(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    issuer.open.clear()
    async with harness.credentials(timeout=0.3) as credentials:
        with pytest.raises(CredentialUnusable, match=r"didn't answer within 0\.3 s"):
            await credentials.current(subscription)
    gone = harness.subscribe(refresh(issuer, -10) | {"refreshTokenEndpoint": "http://127.0.0.1:1/token"})
    async with harness.credentials() as credentials:
        with pytest.raises(CredentialUnusable, match="can't be reached: ConnectionRefusedError"):
            await credentials.current(gone)


async def test_what_can_t_be_stored_is_kept_and_stored_later(harness, issuer):
    subscription = harness.subscribe(refresh(issuer, -10))
    key, away = harness.folder / "secrets.key", harness.folder / "away"
    issuer.open.clear()
    async with harness.credentials() as credentials:
        asking = asyncio.create_task(credentials.current(subscription))
        await eventually(lambda: issuer.asked)
        key.rename(away)
        issuer.open.set()
        assert (await asking).value == "at-1"
        assert (await credentials.current(subscription)).value == "at-1"
        away.rename(key)
        held = credentials._held[subscription.id]
        held.next_try = 0.0
        await credentials.current(subscription)
        await eventually(lambda: held.spent is None)
    async with harness.credentials() as credentials:
        assert (await credentials.current(subscription)).value == "at-1"
    assert len(issuer.asked) == 1
