from typing import Any

from headrace.matching.machine import kernel


def test_a_kernel_works_where_nothing_can_be_kept_on_disk():
    names: dict[str, Any] = {}
    exec("def increased(value):\n    return value + 1", names)  # a function without a file
    assert kernel(names["increased"])(41) == 42
