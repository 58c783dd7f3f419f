"""The role that takes events in, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.service.http.handlers import run_http

if TYPE_CHECKING:
    from headrace.config import Config


def run(config: Config) -> None:
    """Serve until told to stop; finish what was accepted."""
    run_http(config, ingress=True, control=False)
