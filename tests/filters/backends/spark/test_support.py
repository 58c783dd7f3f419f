"""The split between Spark and Python, asked without Spark."""

import subprocess
import sys

import pytest

from headrace.filters import compile_filter
from headrace.filters.backends.spark.support import is_native

NATIVE = [
    "ce.subject == 'x'", "ce.type.startsWith('a')", "!has(ce.subject)", "has(ce.region)", "ce.region", "ce.count > 1.5",
    "ce.count in [1, 'a', null]", "string(ce.count) == '7'", "publishTime >= 1500", "!(publishTime < 3)", "tenant != 'a'",
    "ce.id < 5", "string(ce.region).contains('x')",
]  # fmt: skip
NOT_NATIVE = [
    "data.a == 1", "has(data.a)", "data", "ce.type.matches('x')", "ce.type.match('a?')", "ce.count + 1 == 2", "'a' in ce.l",
    "ce.region.a == 1", "eventTime > 1", "publishTime == 1.5", "ce.count == 18446744073709551615u", "ce.size() > 4",
    "string(ce.count) == '0'", "string(ce.count) < 'a'", "string(ce.count).startsWith('1')",
]  # fmt: skip


@pytest.mark.parametrize("text", NATIVE)
def test_native(text):
    assert is_native(compile_filter({"cel": text}).expression)


@pytest.mark.parametrize("text", NOT_NATIVE)
def test_not_native(text):
    assert not is_native(compile_filter({"cel": text}).expression)


def test_needs_no_spark_to_ask():
    code = "import sys, headrace.filters.backends.spark.support; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
