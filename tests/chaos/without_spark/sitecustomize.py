"""Gives every Python process that has this folder in its PYTHONPATH a route without Spark.

Python imports a module of this name at each start. The roles are the real ones, and so is all of their code but for
`headrace.pipeline.spark.session`.
"""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

_REPLACED = "headrace.pipeline.spark.session"
_STAND_IN = Path(__file__).parents[1] / "plain_session.py"


class _Finder:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(name, _STAND_IN) if name == _REPLACED else None


sys.meta_path.insert(0, _Finder)
