"""How the programs of peers are built once and kept: in a folder named after their sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from headrace_bench.match.peers.peer import PeerMissing, cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PATIENCE = 600


def built(name: str, sources: Sequence[str], build: Callable[[Path], None]) -> Path:
    """Return the folder with the program; `build` runs in a copy of the sources if it isn't there yet."""
    texts = {each: resources.files(__package__).joinpath(name, each).read_bytes() for each in sources}
    digest = hashlib.sha256(b"\0".join(texts.values())).hexdigest()[:12]
    folder = cache_folder(f"{name}-{digest}")
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            for each, text in texts.items():
                (made / each).write_bytes(text)
            build(made)
            if not folder.exists():  # another run may have been faster
                made.rename(folder)
    return folder


def tool(name: str, peer: str, *elsewhere: str) -> str:
    """Return where a tool is: on the path, or in one of the folders where it is often put."""
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(elsewhere))
    if found is None:
        raise PeerMissing(f"peer {peer} left out: no `{name}` on this machine")
    return found


def step(
    command: Sequence[str], folder: Path, peer: str, environment: Mapping[str, str] | None = None
) -> None:
    """Run one step of a build; what it printed last is the reason if it fails."""
    try:
        done = subprocess.run(  # noqa: S603
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerMissing(f"peer {peer} left out: `{_shown(command)}` took over {_PATIENCE} s") from error
    if done.returncode != 0:
        raise PeerMissing(
            f"peer {peer} left out: `{_shown(command)}` failed: {_reason(done.stdout + done.stderr)}"
        )


def _shown(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *command[1:]])


def _reason(printed: str) -> str:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    faults = [line for line in lines if "ERROR" in line or "error" in line]
    return (faults or lines or ["it said nothing"])[0][:300]
