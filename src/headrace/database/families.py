"""Families of tables, each with versions of its own, so that several can share a database or not.

A family's scripts are `v0001_….py`, `v0002_….py` and so on. Version 1 is the schema from before versions were kept;
it has it as `TABLES`, a copy that never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from headrace.database.contents import STORE

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import MetaData

    from headrace.database.contents import Contents

FIRST = "0001"


@dataclass(frozen=True, slots=True)
class Family:
    """Tables that are migrated together, and the folder of the scripts that do it.

    `metadata` is what the newest version has to be; who only opens a database doesn't look at it. `contents` says
    in which of the databases the family is.
    """

    name: str
    metadata: MetaData
    scripts: Path
    contents: Contents = STORE

    @property
    def version_table(self) -> str:
        """The table with the version that a database has, in one row."""
        return f"{self.name}_version"

    @property
    def versions(self) -> tuple[str, ...]:
        """What this Headrace knows, in order."""
        return _versions(self.scripts)

    @property
    def newest(self) -> str:
        """The version that this Headrace works with."""
        return self.versions[-1]


@cache
def _versions(scripts: Path) -> tuple[str, ...]:
    return tuple(sorted(script.name[1:5] for script in scripts.glob("v[0-9][0-9][0-9][0-9]_*.py")))
