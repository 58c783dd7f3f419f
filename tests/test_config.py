import dataclasses
import tomllib
from pathlib import Path

import pytest

from headrace.config import (
    DEFAULTS,
    Value,
    build,
    effective_values,
    load_config,
    read_snapshot,
    write_snapshot,
)
from headrace.errors import ConfigError


def flat(document, prefix=""):
    for key, value in document.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def settings_of(settings, prefix=""):
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            yield from settings_of(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, value


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "headrace.toml"
        path.write_text(text)
        return path

    return write


def test_the_defaults_are_the_settings_no_more_and_no_less():
    defaults = dict(flat(tomllib.loads(DEFAULTS.read_text())))
    assert sorted(defaults) == sorted(dict(settings_of(load_config(None, {}, {}))))


def test_the_defaults_have_the_types_of_the_settings():
    defaults = dict(flat(tomllib.loads(DEFAULTS.read_text())))
    checked = 0
    for key, value in settings_of(load_config(None, {}, {})):
        if "." in key:
            checked += 1
            kind = tuple if isinstance(defaults[key], list) else type(defaults[key])
            assert type(value) is kind, key
    assert checked == len(defaults) - len(["data", "roles"])


def test_every_setting_is_explained_in_the_defaults_file():
    """A comment stands above a setting, or above the group of settings it is in."""
    lines = DEFAULTS.read_text().splitlines()
    assert sum(line.startswith("#") for line in lines) > 20
    assert all(len(line) <= 120 for line in lines)


def test_later_sources_win(file):
    path = file("[api]\nport = 2\nhost = 'file'\nmax_event_bytes = 3\n[delivery]\nretries = 4\n")
    environment = {"HEADRACE_API_PORT": "5", "HEADRACE_API_HOST": "environment"}
    values = effective_values(path, {"api.port": 6, "api.host": None}, environment)
    assert values["api.port"] == Value(6, "command line")
    assert values["api.host"] == Value("environment", "HEADRACE_API_HOST")
    assert values["api.max_event_bytes"] == Value(3, str(path))
    assert values["delivery.retries"] == Value(4, str(path))
    assert values["api.metrics"] == Value(True, "default")
    config = build(values)
    assert (config.api.port, config.api.host, config.delivery.retries) == (6, "environment", 4)


def test_the_file_may_be_named_by_the_environment(file):
    path = file("[api]\nport = 2\n")
    assert load_config(None, {}, {"HEADRACE_CONFIG": str(path)}).api.port == 2
    other = path.with_name("other.toml")
    other.write_text("[api]\nport = 3\n")
    assert load_config(other, {}, {"HEADRACE_CONFIG": str(path)}).api.port == 3, "--config wins"


def test_variables_that_are_no_settings_are_left_alone():
    environment = {
        "HEADRACE_URL": "http://x",
        "HEADRACE_TOKEN": "hr_x",
        "HEADRACE_TOKEN_FILE": "/run/token",
        "PATH": "/bin",
        "HEADRACEX": "1",
    }
    assert effective_values(None, {}, environment) == effective_values(None, {}, {})


def test_data_becomes_absolute_and_stands_for_itself_in_other_values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config(None, {"data": "here/there"}, {})
    assert config.data == tmp_path / "here" / "there"
    assert config.store.url == f"sqlite:///{tmp_path}/here/there/store.db"
    assert config.delivery.url == f"sqlite:///{tmp_path}/here/there/delivery.db"
    assert load_config(None, {"data": "/a", "store.url": "x/{data}/{data}"}, {}).store.url == "x//a//a"


def test_an_expanded_value_keeps_its_origin():
    values = effective_values(
        None, {}, {"HEADRACE_STORE_URL": "sqlite:///{data}/mine.db", "HEADRACE_DATA": "/d"}
    )
    assert values["store.url"] == Value("sqlite:////d/mine.db", "HEADRACE_STORE_URL")
    assert values["data"] == Value("/d", "HEADRACE_DATA")


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("HEADRACE_API_PORT", "9_000", "api.port", 9000),
        ("HEADRACE_API_METRICS", "false", "api.metrics", False),
        ("HEADRACE_API_HOST", "::1", "api.host", "::1"),
        ("HEADRACE_API_HOST", "", "api.host", ""),
        ("HEADRACE_DELIVERY_JITTER", "0.5", "delivery.jitter", 0.5),
        ("HEADRACE_DELIVERY_TIMEOUT_SECONDS", "3", "delivery.timeout_seconds", 3.0),
        ("HEADRACE_PIPELINE_MASTER", "local[2]", "pipeline.master", "local[2]"),
        ("HEADRACE_LOG_RETENTION_BYTES", "1_000", "log.retention_bytes", 1000),
        ("HEADRACE_MATCHING_BLOOM_FP_RATE", "0.2", "matching.bloom.fp_rate", 0.2),
        ("HEADRACE_MATCHING_BLOOM_REBUILD_INTERVAL", "60", "matching.bloom.rebuild_interval", 60.0),
        ("HEADRACE_MATCHING_CEL_CACHE_SIZE", "0", "matching.cel.cache_size", 0),
    ],
)
def test_a_variable_is_read_by_the_type_of_its_setting(variable, text, key, value):
    found = effective_values(None, {}, {variable: text})[key]
    assert (found.value, type(found.value), found.origin) == (value, type(value), variable)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("HEADRACE_API_PORT", "many"),
        ("HEADRACE_API_PORT", ""),
        ("HEADRACE_API_PORT", "8080.5"),
        ("HEADRACE_API_PORT", "true"),
        ("HEADRACE_API_PORT", "'8080'"),
        ("HEADRACE_API_PORT", "70000"),
        ("HEADRACE_API_PORT", "-1"),
        ("HEADRACE_API_METRICS", "yes"),
        ("HEADRACE_API_METRICS", "1"),
        ("HEADRACE_API_MAX_EVENT_BYTES", "0"),
        ("HEADRACE_DELIVERY_JITTER", "[1]"),
        ("HEADRACE_DELIVERY_JITTER", "1.5"),
        ("HEADRACE_DELIVERY_CONCURRENCY", "0"),
        ("HEADRACE_DELIVERY_QUEUE_LENGTH", "0"),
        ("HEADRACE_DELIVERY_MAX_QUEUED", "0"),
        ("HEADRACE_DELIVERY_RETRIES", "-1"),
        ("HEADRACE_DELIVERY_TIMEOUT_SECONDS", "0"),
        ("HEADRACE_DELIVERY_FLUSH_SECONDS", "-1.0"),
        ("HEADRACE_DELIVERY_ALLOW_NETWORKS", "['10.0.0.1/8']"),
        ("HEADRACE_DELIVERY_ALLOW_NETWORKS", "['example.com']"),
        ("HEADRACE_MATCHING_BLOOM_FP_RATE", "0.0"),
        ("HEADRACE_MATCHING_BLOOM_FP_RATE", "1.5"),
        ("HEADRACE_MATCHING_BLOOM_INITIAL_CAPACITY", "-1"),
        ("HEADRACE_MATCHING_BLOOM_INITIAL_CAPACITY", "1.5"),
        ("HEADRACE_MATCHING_BLOOM_REBUILD_INTERVAL", "0.0"),
        ("HEADRACE_MATCHING_BLOOM_REBUILD_FP_THRESHOLD", "2.0"),
        ("HEADRACE_MATCHING_CEL_CACHE_SIZE", "-1"),
        ("HEADRACE_MATCHING_CEL_EVALUATION_TIMEOUT", "0.0"),
        ("HEADRACE_MATCHING_CEL_EVALUATION_TIMEOUT", "nan"),
    ],
)
def test_a_variable_that_can_not_be_used_is_named_with_its_value(variable, text):
    with pytest.raises(ConfigError) as caught:
        load_config(None, {}, {variable: text})
    assert str(caught.value).startswith(variable)
    assert (text or "''") in str(caught.value).lower()


@pytest.mark.parametrize(
    "text",
    [
        "[api]\nport = 'x'\n",
        "[api]\nport = 70000\n",
        "[api]\nmetrics = 1\n",
        "[delivery]\nconcurrency = 0\n",
        "[delivery]\njitter = true\n",
        "data = 3\n",
    ],
)
def test_a_value_of_a_file_that_can_not_be_used_names_the_file(file, text):
    path = file(text)
    with pytest.raises(ConfigError, match="^" + str(path)):
        load_config(path, {}, {})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("colour = 'red'\n", "colour"),
        ("[api]\ncolour = 'red'\n", "api.colour"),
        ("[colour]\nred = 1\n", "colour.red"),
        ("api = 3\n", "api"),
        ("[api.port]\nx = 1\n", "api.port.x"),
        ("[matching]\nfp_rate = 0.1\n", "matching.fp_rate"),
        ("[matching]\nbloom = 1\n", "matching.bloom"),
    ],
)
def test_a_key_that_is_no_setting_is_named(file, text, key):
    path = file(text)
    with pytest.raises(ConfigError, match=f"{path} sets '{key}', which is no setting"):
        load_config(path, {}, {})


def test_a_variable_that_is_no_setting_is_named():
    with pytest.raises(ConfigError, match="HEADRACE_API_COLOUR in the environment is no setting"):
        load_config(None, {}, {"HEADRACE_API_COLOUR": "red"})


@pytest.mark.parametrize("content", [b"[api", b"\xff\xfe", None])
def test_a_file_that_can_not_be_read_is_named(tmp_path, content):
    path = tmp_path / "headrace.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"{path} can't be read"):
        load_config(path, {}, {})


def test_an_override_of_the_wrong_type_is_refused():
    with pytest.raises(ConfigError, match=r"command line sets api\.port"):
        load_config(None, {"api.port": "8080"}, {})


def test_a_snapshot_is_read_back_as_it_was(tmp_path):
    config = load_config(None, {"data": "dä ta", "api.port": 1, "delivery.jitter": 0.25}, {})
    write_snapshot(config, tmp_path / "config.json")
    again = read_snapshot(tmp_path / "config.json")
    assert again == config
    assert isinstance(again.data, Path)


def test_a_config_is_frozen():
    config = load_config(None, {}, {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.data = Path("/")  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.api.port = 1  # type: ignore[misc]
