import pytest

from headrace.cli.service import up
from headrace.config import load_config


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({}, "to: 127.0.0.0/8, ::1/128."),
        ({"delivery.allow_networks": ["10.1.0.0/16"]}, "to: 10.1.0.0/16."),
        ({"delivery.allow_networks": []}, "to: nothing else."),
    ],
)
def test_it_says_where_deliveries_may_go(run, monkeypatch, overrides, said):
    class Supervisor:
        """In place of the real one, which would start Spark: the command's own words are what is tested here."""

        def __init__(self, config):
            pass

        def run(self, on_ready):
            return 0

    monkeypatch.setattr(up, "Supervisor", Supervisor)
    monkeypatch.setattr(up, "load_config", lambda file, given: load_config(file, overrides, {}))
    result = run("up")
    assert result.exit_code == 0
    assert "delivery.allow_networks" in result.stderr
    assert said in result.stderr
