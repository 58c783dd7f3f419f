"""The page on several machines: its commands are for other machines, so they are read instead of run."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from headrace.cli.main import main
from headrace.config import load_config

_PAGE = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text()
_SETTINGS = re.search(r"^```toml\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL)
_COMMANDS = re.findall(r"(?:`|ExecStart=\S*/)headrace ([^`\n…]+)[`\n]", _PAGE)


@pytest.fixture
def settings(tmp_path):
    assert _SETTINGS is not None
    file = tmp_path / "headrace.toml"
    file.write_text(_SETTINGS[1])
    return file


def test_the_settings_are_settings(settings):
    config = load_config(settings, {}, {})
    assert config.pipeline.master == "spark://spark.example:7077"
    assert config.store.url == config.delivery.url


def test_there_are_commands_for_every_part():
    assert {command.split()[0] for command in _COMMANDS} >= {"up", "pipeline", "doctor", "bench"}


@pytest.mark.parametrize("command", sorted(set(_COMMANDS)))
def test_a_command_is_one(command, settings):
    arguments = shlex.split(command.replace("/etc/headrace.toml", str(settings)))
    group: Any = main
    while arguments and not arguments[0].startswith("-"):
        name = arguments.pop(0)
        found = group.get_command(click.Context(group), name)
        assert found is not None, command
        if not isinstance(found, click.Group):
            # Not by itself: a command keeps the help option of its first context, and main's is another one.
            found.make_context(name, arguments, parent=click.Context(main, **main.context_settings))
            return
        group = found
    pytest.fail(f"{command} does nothing")
