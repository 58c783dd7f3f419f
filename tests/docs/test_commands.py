"""Every command in the README and the docs is run, in order, against a real service."""

import asyncio
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.service.processes.service import ServiceProcess, free_port

_ROOT = Path(__file__).parents[2]
_PAGES = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md", *sorted((_ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_BIN = Path(sys.executable).parent


class _Terminals:
    """A service as `make up` starts it, a sink as `headrace listen` starts it, and a shell for the rest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sink_port = free_port()
        self.heard = folder / "heard"
        self._service = ServiceProcess(folder / "data", free_port(), folder / "service.log")
        self._service.start()
        try:
            asyncio.run(self._service.wait_until_ready())
        except BaseException:
            self._service.kill()
            raise
        with self.heard.open("wb") as output:
            listen = [str(_BIN / "headrace"), "listen", "--port", str(self._sink_port)]
            self._listener = subprocess.Popen(listen, stdout=output, stderr=subprocess.DEVNULL)

    def run(self, commands: str) -> str:
        """Run a block, with this service's and this sink's ports and this environment's commands."""
        script = commands.replace(":8080", f":{self._service.port}").replace(":9000", f":{self._sink_port}")
        script = script.replace(".venv/bin/", f"{_BIN}/")
        environment = {
            "PATH": f"{_BIN}:/usr/bin:/bin",
            "HEADRACE_URL": self._service.url,
            "HOME": str(self._folder),
        }
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            check=False,
            capture_output=True,
            text=True,
            cwd=self._folder,
            env=environment,
            timeout=60,
        )
        assert ended.returncode == 0, f"{script}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def hears(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.heard.read_text():
            assert time.monotonic() < deadline, f"{text!r} isn't in {self.heard.read_text()!r}"
            time.sleep(0.05)

    def close(self) -> None:
        self._listener.terminate()
        self._listener.wait()
        self._service.stop()


@pytest.fixture(scope="module")
def terminals(tmp_path_factory):
    opened = _Terminals(tmp_path_factory.mktemp("docs"))
    yield opened
    opened.close()


def _blocks(page: Path, language: str) -> list[str]:
    return [block for name, block in _BLOCK.findall(page.read_text()) if name == language]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_the_commands_of_a_page_work(page, terminals):
    for block in _blocks(page, "sh"):
        if block.startswith("make "):
            _check_make_targets(block)
        elif "headrace listen" not in block:  # the sink of these tests is that command
            terminals.run(block)


def test_what_the_readme_promises_is_heard(terminals):
    for block in _blocks(_ROOT / "README.md", "sh"):
        if "curl" in block or "headrace subscribe" in block:
            terminals.run(block)
    terminals.hears("type=com.example.order.created")
    terminals.hears('{"amount": 7}')
    terminals.hears("type=com.example.payment.failed")


def test_what_a_trigger_asks_for_is_heard(terminals):
    apply, *_ = _blocks(_ROOT / "docs" / "knative.md", "sh")
    terminals.run(apply)
    terminals.hears('{"amount": 1001}')


def test_the_readme_s_python_runs(terminals):
    [block] = _blocks(_ROOT / "README.md", "python")
    ended = subprocess.run(
        [sys.executable, "-c", block], check=True, capture_output=True, text=True, timeout=60
    )
    assert ended.stdout.startswith("True ")
    assert ended.stdout.endswith("['orders']\n")


def _dry_run(target: str) -> str:
    """Ask make what it would do. These tests may be run by make themselves, which then talks more."""
    command = ["make", "--no-print-directory", "--dry-run", target]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=_ROOT, env=environment)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _check_make_targets(block: str) -> None:
    """`make demo`, `make test` and `make lint` are run by CI itself; here it is enough that they exist."""
    for line in block.splitlines():
        _dry_run(line.removeprefix("make "))


def test_make_up_starts_the_service():
    assert _dry_run("up").strip().endswith("headrace up")


def test_no_page_has_a_shell_block_in_another_dress():
    """`bash`, `console` or a bare block with a command would escape these tests."""
    for page in _PAGES:
        for language, block in _BLOCK.findall(page.read_text()):
            assert language in {"sh", "python", "json", "toml", "ini", "text"}, (page, block)
            is_command = re.search(r"^[$ ]*(headrace|make|pip|curl|python)\b", block, re.MULTILINE)
            assert language != "text" or not is_command, (page, block)
