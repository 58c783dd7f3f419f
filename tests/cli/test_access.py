"""`headrace keys`, `quotas` and `audit`, on the database itself and over HTTP, and `--token` everywhere."""

import ast
import time
from pathlib import Path

import msgspec
import pytest
from tests.api.role import HttpRole

import headrace.cli
from headrace.auth.keys.key import new_key

ADMIN = new_key()


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """The real http role, which asks everybody who they are."""
    data = tmp_path_factory.mktemp("closed") / "data"
    with HttpRole(data, auth__mode="on", auth__admin_keys=[ADMIN.text]) as role:
        yield role


@pytest.fixture
def ask(run, closed):
    """Run a command at the service, with a token in the environment."""

    def ask(*arguments, token=ADMIN.text, **how):
        return run(*arguments, "--url", closed.url, env={"HEADRACE_TOKEN": token}, **how)

    return ask


def test_no_command_makes_a_client_without_the_token():
    """Whoever adds a command connects by `options.connect`, or its users can't say who they are."""
    folder = Path(headrace.cli.__file__).parent
    for module in folder.glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call)]
        makes = [call.id for call in calls if isinstance(call, ast.Name) and call.id == "Client"]
        assert not makes or module.name == "options.py", module.name


def test_the_first_key_is_made_in_the_database_itself(run, tmp_path):
    made = run("keys", "create", "--role", "admin", "--namespace", "*", "--name", "first", "--data", tmp_path)
    assert made.exit_code == 0, made.output
    key = made.stdout.strip()
    assert key.startswith("hr_")
    assert "not shown again" in made.stderr
    listed = run("keys", "list", "--data", tmp_path)
    assert "first" in listed.stdout
    assert key not in listed.stdout
    (entry,) = msgspec.json.decode(run("audit", "--kind", "key", "--data", tmp_path, "--json").stdout)
    assert entry["action"] == "keys create"
    assert entry["who"].startswith("command:")
    with HttpRole(tmp_path, auth__mode="on") as role:
        shown = run("keys", "list", "--url", role.url, "--token", key, "--json")
        (found,) = msgspec.json.decode(shown.stdout)
        assert found["grants"] == {"*": ["admin"]}


def test_a_key_comes_and_goes_over_http(ask, run, closed):
    wish = (
        "--role",
        "publish",
        "--role",
        "subscribe",
        "--namespace",
        "default",
        "--expires",
        "90d",
        "--name",
        "ci",
    )
    made = msgspec.json.decode(ask("keys", "create", *wish, "--json").stdout)
    assert made["grants"] == {"default": ["publish", "subscribe"]}
    assert made["expires"] > made["created"]
    deadline = time.monotonic() + 10
    while (published := ask("publish", "--type", "t", "--data", "{}", token=made["key"])).exit_code:
        assert time.monotonic() < deadline, published.output
    assert ask("get", "channels", token=made["key"]).exit_code == 0
    assert ask("keys", "list", token=made["key"]).exit_code == 1, "that takes the role admin"
    assert ask("keys", "revoke", made["id"]).exit_code == 0
    deadline = time.monotonic() + 10
    while not (after := ask("publish", "--type", "t", "--data", "{}", token=made["key"])).exit_code:
        assert time.monotonic() < deadline
    assert "was revoked" in after.output
    state = next(line for line in ask("keys", "list").stdout.splitlines() if made["id"] in line)
    assert "revoked" in state


def test_without_a_token_it_is_said_what_to_do(run, closed):
    refused = run("get", "subscriptions", "--url", closed.url)
    assert refused.exit_code == 1
    assert "Authorization: Bearer" in refused.output


def test_a_token_may_stand_in_a_file(run, closed, tmp_path):
    path, url = tmp_path / "token", ("--url", closed.url)
    path.write_text(ADMIN.text + "\n")
    assert run("get", "channels", "--token-file", path, *url).exit_code == 0
    assert run("get", "channels", *url, env={"HEADRACE_TOKEN_FILE": str(path)}).exit_code == 0
    path.write_text("")
    empty = run("get", "channels", "--token-file", path, *url)
    assert (empty.exit_code, "is empty" in empty.output) == (1, True)
    both = run("get", "channels", "--token-file", path, "--token", "x", *url)
    assert (both.exit_code, "give either" in both.output) == (2, True)


def test_the_command_line_wins_over_the_environment(run, closed, tmp_path):
    good, wrong, url = tmp_path / "good", tmp_path / "wrong", ("--url", closed.url)
    good.write_text(ADMIN.text)
    wrong.write_text(new_key().text)
    in_file, in_variable = {"HEADRACE_TOKEN_FILE": str(wrong)}, {"HEADRACE_TOKEN": wrong.read_text()}
    assert run("get", "channels", "--token", ADMIN.text, *url, env=in_file).exit_code == 0
    assert run("get", "channels", "--token-file", good, *url, env=in_variable).exit_code == 0
    both = run("get", "channels", *url, env=in_file | in_variable)
    assert (both.exit_code, "not both" in both.output) == (2, True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "not a text file"),
        (b"a\nb", "one line"),
    ],
)
def test_a_token_file_that_holds_none_is_told_in_a_sentence(run, closed, tmp_path, content, words):
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    told = run("get", "channels", "--url", closed.url, env={"HEADRACE_TOKEN_FILE": str(path)})
    assert (told.exit_code, words in told.output, str(path) in told.output) == (1, True, True), told.output
    assert "Traceback" not in told.output
    folder = run("get", "channels", "--url", closed.url, env={"HEADRACE_TOKEN_FILE": str(tmp_path)})
    assert (folder.exit_code, "is a directory" in folder.output) == (2, True)


def test_commands_that_read_the_configuration_leave_the_token_file_alone(run, tmp_path):
    path = tmp_path / "token"
    path.write_text(ADMIN.text)
    for command in (("config",), ("keys", "list"), ("migrate", "--check")):
        told = run(*command, env={"HEADRACE_TOKEN_FILE": str(path)})
        assert "is no setting" not in told.output


def test_a_token_is_never_printed(ask, run, closed):
    for arguments in (("get", "channels"), ("keys", "list"), ("audit",), ("get", "nonsense")):
        assert ADMIN.text not in ask(*arguments).output
    wrong = new_key().text
    assert wrong not in run("get", "channels", "--url", closed.url, "--token", wrong).output


def test_a_key_of_an_unreadable_span_or_role_is_refused(run, tmp_path):
    wish = ("keys", "create", "--namespace", "shop", "--name", "x", "--data", tmp_path)
    assert "90d" in run(*wish, "--role", "publish", "--expires", "soon").output
    assert "fly" in run(*wish, "--role", "fly").output
    refused = run(
        "keys", "create", "--namespace", "No Label", "--role", "publish", "--name", "x", "--data", tmp_path
    )
    assert (refused.exit_code, "DNS label" in refused.output) == (1, True)


def test_quotas_are_set_in_both_ways_and_recorded(ask, run, closed):
    assert ask("quotas", "set", "shop", "--subscriptions", 10, "--events-per-second", 2.5).exit_code == 0
    shown = msgspec.json.decode(ask("quotas", "list", "--json").stdout)
    assert shown["namespaces"]["shop"] == {"subscriptions": 10, "eventsPerSecond": 2.5}
    assert run("quotas", "set", "shop", "--channels", 3, "--data", closed.data).exit_code == 0
    there = run("quotas", "list", "--data", closed.data)
    assert "shop" in there.stdout
    entries = msgspec.json.decode(ask("audit", "--kind", "quotas", "--namespace", "shop", "--json").stdout)
    assert [each["action"] for each in entries] == ["quotas set", "PUT /api/quotas/shop"]
    assert "PUT /api/quotas/shop" in ask("audit", "--namespace", "shop").stdout


def test_a_made_up_key_for_the_configuration(run):
    assert run("keys", "new").stdout.strip().startswith("hr_")


def test_doctor_says_who_is_let_in(run, tmp_path):
    def access(**settings):
        variables = {f"HEADRACE_{name.upper()}": value for name, value in settings.items()}
        found = msgspec.json.decode(run("doctor", "--data", tmp_path, "--json", env=variables).stdout)
        return found["access"]

    assert access()["good"]
    assert "off" in access()["what"]
    assert not access(api_host="0.0.0.0")["good"]
    assert "auth.insist" in access(api_host="0.0.0.0")["remedy"]
    assert access(api_host="0.0.0.0", auth_mode="on")["good"]
    assert "OFF" in access(api_host="0.0.0.0", auth_insist="true")["what"]
