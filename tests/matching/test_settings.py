import dataclasses

import pytest

from headrace.config import load_config
from headrace.errors import ConfigError
from headrace.matching.settings import BloomSettings, CelSettings, MatchingSettings


def test_the_defaults_of_the_library_are_those_of_the_file():
    assert load_config(None, {}, {}).matching == MatchingSettings()


def test_nested_tables_reach_the_settings(tmp_path):
    path = tmp_path / "headrace.toml"
    path.write_text("[matching.bloom]\nfp_rate = 0.1\n[matching.cel]\ncache_size = 5\n")
    found = load_config(path, {}, {"HEADRACE_MATCHING_BLOOM_INITIAL_CAPACITY": "7"}).matching
    assert found == MatchingSettings(
        bloom=BloomSettings(fp_rate=0.1, initial_capacity=7), cel=CelSettings(cache_size=5)
    )


def test_an_unusable_value_is_named_with_its_key_and_origin(tmp_path):
    path = tmp_path / "headrace.toml"
    path.write_text("[matching.bloom]\nfp_rate = 1.5\n")
    with pytest.raises(ConfigError, match=rf"^{path} sets matching\.bloom\.fp_rate to 1\.5, .* <= 1\.0"):
        load_config(path, {}, {})


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (BloomSettings, "fp_rate", 0.0),
        (BloomSettings, "fp_rate", 1.01),
        (BloomSettings, "fp_rate", -0.1),
        (BloomSettings, "fp_rate", float("nan")),
        (BloomSettings, "fp_rate", "0.1"),
        (BloomSettings, "initial_capacity", -1),
        (BloomSettings, "initial_capacity", 1.5),
        (BloomSettings, "rebuild_interval", 0.0),
        (BloomSettings, "rebuild_fp_threshold", 1.01),
        (CelSettings, "cache_size", -1),
        (CelSettings, "evaluation_timeout", 0.0),
    ],
)
def test_python_code_is_held_to_the_same_bounds(kind, name, value):
    with pytest.raises(ValueError, match=f"^{name} is .* can't be used: "):
        kind(**{name: value})


def test_integers_are_numbers():
    assert BloomSettings(rebuild_interval=60).rebuild_interval == 60


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BloomSettings().fp_rate = 0.5  # type: ignore[misc]
