"""Manifests from files, folders and standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from headrace.controlplane.manifest_text import read_manifests

_SUFFIXES = {".yaml", ".yml", ".json"}

file_option = click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Manifests: a file, a folder of .yaml, .yml and .json files, or - for standard input. May be repeated.",
)
namespace_option = click.option(
    "-n", "--namespace", help="The namespace, for manifests that name none. Without it, default."
)


def read_files(names: tuple[str, ...]) -> list[Any]:
    """Return the manifests of the files, in order; files of a folder in order of their names. None is an error."""
    found = [document for name in names for path in _files(name) for document in _read(path)]
    if not found:
        raise click.BadParameter(f"there is no object in {', '.join(names)}", param_hint="-f")
    return found


def _files(name: str) -> list[Path | None]:
    if name == "-":
        return [None]
    path = Path(name)
    if not path.exists():
        raise click.BadParameter(f"there is no file or folder {name!r}", param_hint="-f")
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES and each.is_file())
    if not found:
        raise click.BadParameter(f"the folder {name!r} has no .yaml, .yml or .json file", param_hint="-f")
    return list(found)


def _read(path: Path | None) -> list[Any]:
    if path is None:
        return read_manifests(sys.stdin.buffer.read(), "standard input")
    return read_manifests(path.read_bytes(), str(path))
