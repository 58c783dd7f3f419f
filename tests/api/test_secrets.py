"""Secrets go in through the API and never come out."""

import base64

import pytest
from tests.api.test_management import assert_problem
from tests.subscriptions.test_credentials import PLAIN, REFRESH

from headrace.subscriptions.credential import Plain

WISH = {"sink": "https://example.com/in", "protocol": "HTTP"}
HEADERS = {"x-api-key": "hunter2", "x-team": "shop"}


async def create(door, **properties):
    answer = await door.send_json("POST", "/subscriptions", WISH | properties)
    assert answer.status == 201, answer
    return answer


async def test_secrets_are_kept_and_not_shown(door):
    created = await create(door, sinkCredential=PLAIN, protocolsettings={"headers": HEADERS})
    place = created.headers["location"]
    answers = [created, await door.call("GET", place), await door.call("GET", "/subscriptions")]
    opened = door.safe.open(created.json["id"])
    answers.append(await door.call("DELETE", place))
    for answer in answers:
        assert answer.status in {200, 201}
        assert b"hunter2" not in answer.body
        assert b"somebody" not in answer.body
    assert created.json["sinkCredential"] == {"credentialType": "PLAIN", "identifier": "***", "secret": "***"}
    assert created.json["protocolsettings"]["headers"] == {"x-api-key": "***", "x-team": "shop"}
    assert opened.secrets.credential == Plain("somebody", "hunter2")
    assert opened.secrets.headers == {"x-api-key": "hunter2"}


async def test_secrets_are_kept_with_a_subscription_that_catches_up(door):
    created = await create(door, sinkCredential=PLAIN, config={"start": "earliest"})
    assert door.safe.open(created.json["id"]).secrets.credential == Plain("somebody", "hunter2")


async def test_a_refused_proposal_is_not_repeated(door):
    answer = await door.send_json(
        "POST", "/subscriptions", WISH | {"sinkCredential": PLAIN | {"hunter2": "hunter2"}}
    )
    problem = assert_problem(answer, 400, "invalid-subscription")
    assert [fault["path"] for fault in problem["faults"]] == ["sinkCredential.hunter2"]
    answer = await door.send_json(
        "POST", "/subscriptions", WISH | {"sinkCredential": PLAIN | {"secret": ["hunter2"]}}
    )
    assert b"hunter2" not in answer.body


@pytest.mark.parametrize(
    ("wish", "kind", "prefix"), [("generate", "hmac", "whsec_"), ("generate-ed25519", "ed25519", "whsk_")]
)
async def test_a_key_that_was_made_is_shown_once(door, wish, kind, prefix):
    created = await create(door, protocolsettings={"signing": wish})
    (key,) = created.json["protocolsettings"]["signing"]
    assert key["kind"] == kind
    assert door.safe.open(created.json["id"]).secrets.signing == (key["secret"],)
    assert len(base64.b64decode(key["secret"].removeprefix(prefix))) == 32
    shown = (await door.call("GET", created.headers["location"])).json["protocolsettings"]["signing"]
    assert shown == [{name: value for name, value in key.items() if name != "secret"}]


async def test_a_key_that_was_given_is_not_shown(door):
    secret = "whsec_" + base64.b64encode(b"x" * 32).decode()
    created = await create(door, protocolsettings={"signing": [secret]})
    assert secret.encode() not in created.body
    assert created.json["protocolsettings"]["signing"][0].keys() == {"kind", "id"}


async def test_how_a_credential_fares_is_shown(door):
    id_ = (await create(door, sinkCredential=REFRESH)).json["id"]
    assert "status" not in (await door.call("GET", f"/subscriptions/{id_}")).json
    door.safe.report(id_, 1, "the token endpoint answered with status 503")
    for shown in (
        (await door.call("GET", f"/subscriptions/{id_}")).json,
        (await door.call("GET", "/subscriptions")).json[0],
    ):
        assert shown["status"]["credential"]["problem"] == "the token endpoint answered with status 503"
        assert shown["sinkCredential"]["accessTokenExpiresUtc"] == REFRESH["accessTokenExpiresUtc"]
        assert shown["sinkCredential"]["refreshToken"] == "***"


async def test_without_the_key_file_it_is_said_and_others_go_on(door):
    await create(door, sinkCredential=PLAIN)
    door.safe.keys.path.unlink()
    answer = await door.send_json("POST", "/subscriptions", WISH | {"sinkCredential": PLAIN})
    problem = assert_problem(answer, 503, "secrets-locked")
    assert "restore the key file" in problem["detail"]
    await create(door)
    assert len((await door.call("GET", "/subscriptions")).json) == 2
