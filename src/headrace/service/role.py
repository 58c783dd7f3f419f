"""The entry of a role's process: `python -m headrace.service.role NAME CONFIG_FILE`.

The supervisor holds the other end of standard input; when it is gone, however it went, the role stops too.
"""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path

from headrace.config import Config, read_snapshot
from headrace.errors import (
    BrokerUnavailable,
    DatabaseDamaged,
    HeadraceError,
    LogUnavailable,
    MasterUnreachable,
    StoreUnavailable,
)
from headrace.heap import spare_heap
from headrace.service.database_guard import DatabaseGuard
from headrace.service.layout import Layout
from headrace.service.lifeline import hold_on_to_starter
from headrace.service.privacy import keep_private
from headrace.service.states import STARTING, announce

ROLES = ("http", "ingress", "api", "pipeline", "dispatcher")
EXIT_FAILED = 1
"""Something is not there at the moment; starting again may help."""

EXIT_REFUSED = 3
"""The role can't run as things are, and starting it again would change nothing."""


def main(arguments: list[str]) -> int:
    """Run one role until it is told to stop."""
    name, config_file = arguments
    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s {name:<10} %(levelname)-7s %(message)s", force=True
    )
    for library in ("alembic", "py4j"):  # they tell of every step they take
        logging.getLogger(library).setLevel(logging.WARNING)
    config: Config = read_snapshot(Path(config_file))
    keep_private(config.data)
    announce(Layout(config.data).run, name, STARTING)
    hold_on_to_starter()
    try:
        role = importlib.import_module(f"headrace.service.roles.{name}")
        spare_heap()
        with DatabaseGuard():
            role.run(config)
    except DatabaseDamaged as error:
        logging.getLogger(__name__).error("%s", error)  # noqa: TRY400  the message says what to do
        return EXIT_REFUSED
    except (BrokerUnavailable, LogUnavailable, MasterUnreachable, StoreUnavailable) as error:
        logging.getLogger(__name__).error("%s", error)  # noqa: TRY400  the message says all
        return EXIT_FAILED
    except HeadraceError as error:
        logging.getLogger(__name__).error("%s", error)  # noqa: TRY400  the message says what to do
        return EXIT_REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
