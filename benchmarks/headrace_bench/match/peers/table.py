"""The table of peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace_bench.match.peers.google_cel import GOOGLE_CEL
from headrace_bench.match.peers.quamina import QUAMINA
from headrace_bench.match.peers.ruler import RULER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace_bench.match.peers.peer import Peer

PEERS: Mapping[str, Peer] = {each.name: each for each in (RULER, QUAMINA, GOOGLE_CEL)}
