"""The garbage collector, in processes that load much once and then handle events."""

from __future__ import annotations

import gc


def spare_heap() -> None:
    """Take what is loaded out of the collector's sight, and let it look less often.

    Events are made of small objects that die without its help. And Spark's workers collect after every task:
    visiting all imported modules and the matcher would cost 10 ms each time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
