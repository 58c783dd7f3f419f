"""How many examples a property is tried on: all of them in `make test-all`, a quarter in `make test`."""

import os
from typing import Any

from hypothesis import settings

THOROUGH = bool(os.environ.get("TEST_ALL"))
"""Whether every example is to be tried."""
_SHARE = 1 if THOROUGH else 4


def examples(count: int, **others: Any) -> settings:
    """Return hypothesis's settings for so many examples."""
    return settings(max_examples=count // _SHARE, **others)
