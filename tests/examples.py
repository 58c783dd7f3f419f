"""How many examples a property is tried on: all of them in `make test-all`, a quarter in `make test`."""

import os
from typing import Any

from hypothesis import settings

_SHARE = 1 if os.environ.get("TEST_ALL") else 4


def examples(count: int, **others: Any) -> settings:
    """Return hypothesis's settings for so many examples."""
    return settings(max_examples=count // _SHARE, **others)
