"""What is wrong with an object that somebody gave us, each fault with the path of its property."""

from __future__ import annotations

Faults = list[tuple[str, str]]
