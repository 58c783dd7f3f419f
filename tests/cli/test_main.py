"""What all commands have in common."""

import re
import subprocess
import sys

import click
import pytest

from headrace.cli.main import main

NOBODY = "http://127.0.0.1:1"


def commands(group, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


COMMANDS = list(commands(main))


def test_there_are_the_commands_of_the_public_surface():
    named = {path[0] for path in COMMANDS}
    assert {
        "up",
        "demo",
        "publish",
        "subscribe",
        "listen",
        "get",
        "delete",
        "config",
        "doctor",
        "bench",
    } <= named


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_has_an_example_of_it(run, path):
    result = run(*path, "--help")
    assert result.exit_code == 0
    _, found, examples = result.stdout.partition("Example")
    assert found
    assert f"headrace {' '.join(path)}" in examples
    assert run(*path, "-h").stdout == result.stdout


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_options_in_examples_exist(run, path):
    text = run(*path, "--help").stdout
    _, _, rest = text.partition("Example")
    examples, _, options = rest.partition("Options:")
    for line in examples.splitlines():
        if f"headrace {' '.join(path)}" in line:
            for option in re.findall(r" (--[a-z-]+)", line):
                assert option in options, f"{line.strip()}: {option}"


def test_the_first_page_shows_how_to_begin(run):
    text = run("--help").stdout
    for command in ("demo", "up", "listen", "subscribe", "publish"):
        assert f"headrace {command}" in text


def test_every_command_is_listed_under_its_name_with_a_help_that_fits(run):
    text = run("--help").stdout
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert re.search(rf"^  {name} +\w.*[.]$", text, re.MULTILINE), name
    assert main.get_command(context, "no-such-command") is None


HEAVY = ("pyspark", "numba", "pyarrow", "pandas", "sqlalchemy")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("publish", "--type", "t", "--url", NOBODY),
        ("get", "channels", "--url", NOBODY),
        ("filter", "cel", "--cel", "data.amount > 5"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_imports_only_what_it_needs(arguments):
    program = (
        f"import sys; from headrace.cli.main import main\nmain({list(arguments)!r}, standalone_mode=False)"
    )
    watch = f"import atexit, sys; atexit.register(lambda: print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr))\n"
    done = subprocess.run(
        [sys.executable, "-c", watch + program], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_version(run):
    assert re.search(r"\d+\.\d+", run("--version").stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("publish", "--type", "t"),
        ("subscribe", "--sink", "http://127.0.0.1:9/"),
        ("get", "channels"),
        ("get", "subscriptions", "x"),
        ("delete", "x"),
    ],
)
def test_when_nobody_answers_it_says_what_to_do(run, arguments):
    result = run(*arguments, "--url", NOBODY)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: no Headrace answers at {NOBODY}")
    assert "headrace up" in result.stderr
    assert result.stdout == ""


def test_the_address_may_come_from_the_environment(run):
    assert NOBODY in run("get", "channels", env={"HEADRACE_URL": NOBODY}).stderr


def test_as_a_program_an_error_has_no_traceback():
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "get", "channels", "--url", NOBODY],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: no Headrace answers")
    assert "Traceback" not in done.stderr
