import msgspec
import pytest

from headrace.config import DEFAULTS, load_config


def rows(result):
    return {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}


def test_every_setting_with_its_origin(run, tmp_path):
    (tmp_path / "mine.toml").write_text("[api]\nport = 1\nhost = 'file'\n")
    result = run("config", "--config", "mine.toml", "--data", "/d", env={"HEADRACE_API_HOST": "environment"})
    assert result.exit_code == 0
    shown = rows(result)
    assert shown["api.port"] == ["1", "mine.toml"]
    assert shown["api.host"] == ["environment", "HEADRACE_API_HOST"]
    assert shown["data"] == ["/d", "command", "line"]
    assert shown["store.url"] == ["sqlite:////d/store.db", "default"]
    assert shown["pipeline.master"] == ["local[*,4]", "default"]


def test_long_values_are_not_cut_in_a_pipe(run):
    folder = "/" + "x" * 150
    assert rows(run("config", "--data", folder))["store.url"][0] == f"sqlite:///{folder}/store.db"


def test_for_programs(run):
    values = msgspec.json.decode(run("config", "--json", env={"HEADRACE_API_PORT": "7"}).stdout)
    assert values["api.port"] == 7
    assert values["delivery.retries"] == load_config(None, {}, {}).delivery.retries


def test_the_defaults_are_printed_with_their_comments(run):
    assert run("config", "--defaults").stdout.strip() == DEFAULTS.read_text().strip()


def test_the_file_may_be_named_by_the_environment(run, tmp_path):
    (tmp_path / "mine.toml").write_text("[api]\nport = 5\n")
    assert rows(run("config", env={"HEADRACE_CONFIG": "mine.toml"}))["api.port"] == ["5", "mine.toml"]


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"HEADRACE_API_PORT": "many"}, "HEADRACE_API_PORT is 'many'"),
        ({"HEADRACE_API_PORT": "70000"}, "HEADRACE_API_PORT sets api.port to 70000"),
        ({"HEADRACE_COLOUR": "red"}, "HEADRACE_COLOUR"),
        ({"HEADRACE_CONFIG": "nowhere.toml"}, "nowhere.toml can't be read"),
    ],
)
@pytest.mark.parametrize("command", ["config", "doctor", "up"])
def test_what_can_not_be_used_is_said_without_a_traceback(run, command, environment, said):
    result = run(command, env=environment)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_file_that_is_not_there_is_wrong_usage(run):
    assert run("config", "--config", "nowhere.toml").exit_code == 2


def test_passwords_are_not_shown(run):
    url = "postgresql+psycopg://me:hunter2@host/name"
    for more in ((), ("--json",)):
        shown = run("config", *more, env={"HEADRACE_STORE_URL": url}).stdout
        assert "hunter2" not in shown
        assert "me:***@host/name" in shown.replace("\n", "")
