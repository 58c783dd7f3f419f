"""Doors that everybody can reach are not left open by accident."""

import subprocess
import sys

import pytest

from headrace.auth.exposure import check_exposure, describe
from headrace.config import load_config
from headrace.errors import ConfigError


def _settings(**settings):
    return load_config(None, {f"auth.{name}": value for name, value in settings.items()}, {}).auth


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_this_machine_s_own_addresses_need_nothing(host):
    check_exposure(host, _settings())
    assert "off" in describe(host, _settings())


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.7", "192.0.2.1", "example.com", "localhost.example.com", ""]
)
def test_other_addresses_are_refused_unless_somebody_is_asked_or_insists(host):
    with pytest.raises(ConfigError) as refused:
        check_exposure(host, _settings())
    for remedy in ("auth.mode", "headrace keys create", "127.0.0.1", "auth.insist"):
        assert remedy in str(refused.value)
    check_exposure(host, _settings(mode="on"))
    check_exposure(host, _settings(insist=True))
    assert "OFF" in describe(host, _settings(insist=True))


@pytest.mark.parametrize(
    "command", [["up", "--host", "0.0.0.0"], ["up", "--role", "api", "--host", "0.0.0.0"]]
)
def test_a_start_is_refused_before_anything_is_made(tmp_path, command):
    ended = subprocess.run(
        [sys.executable, "-m", "headrace", *command, "--data", str(tmp_path / "data")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode != 0
    assert "auth.insist" in ended.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"auth.mode": "maybe"}, "auth.mode"),
        ({"auth.issuers": [{"url": "https://x.example"}]}, "audience"),
        ({"auth.issuers": [{"url": "ftp://x", "audience": "a"}]}, "auth.issuers"),
        ({"auth.issuers": [{"url": "https://x.example", "audience": "a", "algorithms": ["HS256"]}]}, "HS256"),
        ({"auth.issuers": [{"url": "https://x.example", "audience": "a", "algorithms": ["none"]}]}, "none"),
        ({"auth.issuers": [{"url": "https://x.example", "audience": "a", "clam": "x"}]}, "clam"),
    ],
)
def test_settings_that_can_t_be_are_refused(settings, problem):
    with pytest.raises(ConfigError, match=problem):
        load_config(None, settings, {})


def test_issuers_from_a_file_and_from_the_environment(tmp_path):
    file = tmp_path / "headrace.toml"
    file.write_text('[[auth.issuers]]\nurl = "https://x.example"\naudience = "headrace"\n')
    (issuer,) = load_config(file, {}, {}).auth.issuers
    assert issuer.algorithms == ("RS256", "PS256", "ES256", "EdDSA")
    variables = {"HEADRACE_AUTH_ISSUERS": '[{url = "https://x.example", audience = "headrace"}]'}
    assert load_config(None, {}, variables).auth.issuers == (issuer,)


def test_keys_are_never_shown():
    from headrace.config import effective_values, shown

    value = effective_values(None, {"auth.admin_keys": ["hr_secret"]}, {})["auth.admin_keys"]
    assert "secret" not in str(shown("auth.admin_keys", value.value))
    assert "secret" not in repr(load_config(None, {"auth.admin_keys": ["hr_secret"]}, {}).auth)
