"""Secrets go in through the API and never come out."""

import base64

import pytest
from tests.api.handlers.test_channels import assert_problem
from tests.subscriptions.test_credentials import PLAIN, REFRESH

from headrace.secrets.credential import Plain
from headrace.secrets.keys import new_key

WISH = {"sink": "https://example.com/in", "protocol": "HTTP"}
HEADERS = {"x-api-key": "hunter2", "x-team": "shop"}


async def create(api, **properties):
    answer = await api.send_json("POST", "/subscriptions", WISH | properties)
    assert answer.status == 201, answer
    return answer


async def test_secrets_are_kept_and_not_shown(api):
    created = await create(api, sinkCredential=PLAIN, protocolsettings={"headers": HEADERS})
    place = created.headers["location"]
    answers = [created, await api.call("GET", place), await api.call("GET", "/subscriptions")]
    opened = api.secret_store.open(created.json["id"])
    answers.append(await api.call("DELETE", place))
    for answer in answers:
        assert answer.status in {200, 201}
        assert b"hunter2" not in answer.body
        assert b"somebody" not in answer.body
    assert created.json["sinkCredential"] == {"credentialType": "PLAIN", "identifier": "***", "secret": "***"}
    assert created.json["protocolsettings"]["headers"] == {"x-api-key": "***", "x-team": "shop"}
    assert opened.secrets.credential == Plain("somebody", "hunter2")
    assert opened.secrets.headers == {"x-api-key": "hunter2"}


async def test_secrets_are_kept_with_a_subscription_that_catches_up(api):
    created = await create(api, sinkCredential=PLAIN, config={"start": "earliest"})
    assert api.secret_store.open(created.json["id"]).secrets.credential == Plain("somebody", "hunter2")


async def test_a_refused_proposal_is_not_repeated(api):
    answer = await api.send_json(
        "POST", "/subscriptions", WISH | {"sinkCredential": PLAIN | {"hunter2": "hunter2"}}
    )
    problem = assert_problem(answer, 400, "invalid-subscription")
    assert [fault["path"] for fault in problem["faults"]] == ["sinkCredential.hunter2"]
    answer = await api.send_json(
        "POST", "/subscriptions", WISH | {"sinkCredential": PLAIN | {"secret": ["hunter2"]}}
    )
    assert b"hunter2" not in answer.body


@pytest.mark.parametrize(
    ("wish", "kind", "prefix"), [("generate", "hmac", "whsec_"), ("generate-ed25519", "ed25519", "whsk_")]
)
async def test_a_key_that_was_made_is_shown_once(api, wish, kind, prefix):
    created = await create(api, protocolsettings={"signing": wish})
    (key,) = created.json["protocolsettings"]["signing"]
    assert key["kind"] == kind
    assert api.secret_store.open(created.json["id"]).secrets.signing == (key["secret"],)
    assert len(base64.b64decode(key["secret"].removeprefix(prefix))) == 32
    shown = (await api.call("GET", created.headers["location"])).json["protocolsettings"]["signing"]
    assert shown == [{name: value for name, value in key.items() if name != "secret"}]


async def test_a_key_that_was_given_is_not_shown(api):
    secret = "whsec_" + base64.b64encode(b"x" * 32).decode()
    created = await create(api, protocolsettings={"signing": [secret]})
    assert secret.encode() not in created.body
    assert created.json["protocolsettings"]["signing"][0].keys() == {"kind", "id"}


async def test_how_a_credential_fares_is_shown(api):
    id_ = (await create(api, sinkCredential=REFRESH)).json["id"]
    assert "credential" not in (await api.call("GET", f"/subscriptions/{id_}")).json["status"]
    api.secret_store.report(id_, 1, "the token endpoint answered with status 503")
    for shown in (
        (await api.call("GET", f"/subscriptions/{id_}")).json,
        (await api.call("GET", "/subscriptions")).json[0],
    ):
        assert shown["status"]["credential"]["problem"] == "the token endpoint answered with status 503"
        assert shown["sinkCredential"]["accessTokenExpiresUtc"] == REFRESH["accessTokenExpiresUtc"]
        assert shown["sinkCredential"]["refreshToken"] == "***"


async def test_without_the_key_file_it_is_said_and_others_go_on(api):
    await create(api, sinkCredential=PLAIN)
    api.secret_store.keys.path.unlink()
    answer = await api.send_json("POST", "/subscriptions", WISH | {"sinkCredential": PLAIN})
    problem = assert_problem(answer, 503, "secrets-locked")
    assert "restore the key file" in problem["detail"]
    await create(api)
    assert len((await api.call("GET", "/subscriptions")).json) == 2


async def change(api, id_, **members):
    return await api.send_json("PUT", f"/subscriptions/{id_}/secrets", members)


async def test_a_credential_is_changed_while_the_subscription_goes_on(api):
    created = (await create(api, sinkCredential=REFRESH, protocolsettings={"headers": HEADERS})).json
    before, revision = api.store.get(created["id"]), api.store.revision()
    answer = await change(api, created["id"], sinkCredential=PLAIN)
    assert answer.status == 200
    assert b"hunter2" not in answer.body
    assert answer.json["sinkCredential"] == {"credentialType": "PLAIN", "identifier": "***", "secret": "***"}
    opened = api.secret_store.open(created["id"])
    assert opened.secrets.credential == Plain("somebody", "hunter2")
    assert opened.secrets.headers == {"x-api-key": "hunter2"}
    after = api.store.get(created["id"])
    assert (after.created, after.config, after.sink) == (before.created, before.config, before.sink)
    assert [each.id for each in api.store.changes(revision)[1]] == [created["id"]]
    answer = await change(api, created["id"], sinkcredential=None, headers={"x-api-key": "new"})
    assert "sinkCredential" not in answer.json
    assert api.secret_store.open(created["id"]).secrets.headers == {"x-api-key": "new"}
    assert api.secret_store.open(created["id"]).secrets.credential is None


async def test_a_subscription_gets_its_first_secret_later(api):
    created = (await create(api)).json
    assert (await change(api, created["id"], sinkCredential=PLAIN)).status == 200
    assert api.secret_store.open(created["id"]).secrets.credential == Plain("somebody", "hunter2")
    assert (await change(api, created["id"], sinkCredential=None)).status == 200
    assert not api.store.get(created["id"]).has_secrets


@pytest.mark.parametrize("wish", ["generate", "generate-ed25519"])
async def test_signing_keys_are_rotated(api, wish):
    created = (await create(api, protocolsettings={"signing": wish})).json
    (first,) = created["protocolsettings"]["signing"]
    second, kept = (await change(api, created["id"], signing="rotate")).json["protocolsettings"]["signing"]
    assert second["kind"] == first["kind"]
    assert second["secret"] != first["secret"]
    assert kept == {name: value for name, value in first.items() if name != "secret"}
    assert api.secret_store.open(created["id"]).secrets.signing == (second["secret"], first["secret"])
    _, kept = (await change(api, created["id"], signing="rotate")).json["protocolsettings"]["signing"]
    assert kept["id"] == second["id"]
    assert "signing" not in (await change(api, created["id"], signing=None)).json["protocolsettings"]


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({}, ""),
        ({"sink": "https://example.com/"}, "sink"),
        ({"sinkCredential": {"credentialType": "PLAIN"}}, "sinkCredential.identifier"),
        ({"signing": ["hunter2"]}, "protocolsettings.signing[0]"),
        ({"headers": {"x-team": "hunter2"}}, "headers"),
        ({"headers": ["hunter2"]}, "headers"),
        ({"headers": {"x-api-key": "***"}}, "protocolsettings.headers.x-api-key"),
    ],
)
async def test_a_bad_change_changes_nothing(api, members, path):
    created = (await create(api, sinkCredential=PLAIN)).json
    answer = await change(api, created["id"], **members)
    problem = assert_problem(answer, 400, "invalid-subscription")
    assert problem["faults"][0]["path"] == path
    assert b"hunter2" not in answer.body
    assert api.secret_store.open(created["id"]).version == 1


async def test_secrets_of_nobody_can_t_be_changed(api):
    assert_problem(await change(api, "nobody", sinkCredential=PLAIN), 404, "not-found")


async def test_secrets_that_can_t_be_opened_are_given_anew(api):
    created = (
        await create(api, sinkCredential=PLAIN, protocolsettings={"headers": HEADERS, "signing": "generate"})
    ).json
    api.secret_store.keys.write((new_key(),))
    answer = await change(api, created["id"], sinkCredential=PLAIN)
    problem = assert_problem(answer, 400, "invalid-subscription")
    assert [fault["path"] for fault in problem["faults"]] == ["signing", "headers"]
    everything = {"sinkCredential": PLAIN, "signing": "generate", "headers": {"x-api-key": "new"}}
    assert (await change(api, created["id"], **everything)).status == 200
    assert api.secret_store.open(created["id"]).secrets.headers == {"x-api-key": "new"}
