"""The role that answers the control API. Of the log it reads the end, and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.service.http.handlers import run_http

if TYPE_CHECKING:
    from headrace.config import Config


def run(config: Config) -> None:
    """Serve until told to stop."""
    run_http(config, ingress=False, control=True)
