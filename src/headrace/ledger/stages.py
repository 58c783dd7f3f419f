"""The addresses that a delivery may visit, one after the other: the sink, then the reply's or the dead letters'."""

from __future__ import annotations

SINK = "sink"
REPLY = "reply"
DEAD_LETTER = "dead-letter"

STAGES = (SINK, REPLY, DEAD_LETTER)
