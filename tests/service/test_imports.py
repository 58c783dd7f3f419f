"""A process imports only what its role needs: the rest would be memory, and time at every start."""

import subprocess
import sys

import pytest

_COMPILER = {"numba", "llvmlite"}
_DATABASE = {"sqlalchemy", "alembic"}
_SERVER = {"starlette", "uvicorn"}
_NEVER_AT_START = {"pandas", "alembic", "pyarrow.dataset"}

UNNEEDED = {
    "headrace.cli.service.up": {
        "pyarrow",
        "numpy",
        "pandas",
        "pyspark",
        "asyncio",
        *_COMPILER,
        *_DATABASE,
        *_SERVER,
    },
    "headrace.service.role": {
        "pyarrow",
        "numpy",
        "pandas",
        "pyspark",
        "asyncio",
        *_COMPILER,
        *_DATABASE,
        *_SERVER,
    },
    "headrace.service.roles.http": {"pyspark", *_COMPILER, *_NEVER_AT_START},
    "headrace.service.roles.ingress": {"pyspark", *_COMPILER, *_NEVER_AT_START},
    "headrace.service.roles.api": {"pyspark", *_COMPILER, *_NEVER_AT_START},
    "headrace.service.roles.dispatcher": {"pyspark", *_SERVER, *_COMPILER, *_NEVER_AT_START},
    "headrace.service.roles.pipeline": {"aiohttp", *_SERVER, *_COMPILER, *_NEVER_AT_START},
    "headrace.pipeline.route.planner": {"aiohttp", *_SERVER, *_NEVER_AT_START},
    "headrace.pipeline.route.worker": {"aiohttp", *_SERVER, *_NEVER_AT_START},
}


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def imported(program: str) -> set[str]:
    return set(run(f"import sys\n{program}\nprint(*sys.modules)").split())


@pytest.mark.parametrize("module", UNNEEDED)
def test_a_process_does_not_import_what_it_does_not_need(module):
    found = imported(f"import {module}")
    assert module in found
    assert not found & UNNEEDED[module]


def test_pyarrow_imports_pandas_unless_it_is_spared():
    convert = (
        "import pyarrow as pa; pa.array([1]); pa.array([b'x'], pa.binary()).to_numpy(zero_copy_only=False)"
    )
    spared = f"from headrace.heap import spare_pandas; spare_pandas(); {convert}"
    assert "pandas" in imported(convert), "or there is nothing to spare any more"
    assert "pandas" not in imported(spared)
    assert "pandas" in imported(f"{spared}; import pandas"), "who needs it gets it"


def test_each_role_spares_pandas():
    program = (
        "import pyarrow as pa; from headrace.service import role; "
        "role._run('there-is-none', None); pa.array([1])"
    )
    assert "pandas" not in imported(program)
