"""What a session needs when its tasks run on other machines."""

from __future__ import annotations

import socket
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headrace.errors import ConfigError, MasterUnreachable, VersionDiffers
from headrace.pipeline.roster.node_cache import FOLDER_VARIABLE

if TYPE_CHECKING:
    from headrace.pipeline.settings import PipelineSettings

_STANDALONE = "spark://"
_CONNECT_SECONDS = 5.0

_SETTINGS = {
    # A machine that is gone without a word holds a batch up for this long; the default is two minutes.
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "10s",
    "spark.executor.heartbeatInterval": "5s",
    # A machine on which tasks fail, for want of a package or of disk, is left out for a while. One that dies is
    # another matter: its tasks are repeated elsewhere and count as no failure.
    "spark.excludeOnFailure.enabled": "true",
    "spark.excludeOnFailure.timeout": "60s",
    # Tasks carry pointers instead of events, so that no machine is nearer to them than another.
    "spark.locality.wait": "0s",
    "spark.executor.extraJavaOptions": "-Xss8m -XX:+UseSerialGC",
}


def is_local(master: str) -> bool:
    """Tell whether the tasks run in the driver's own process."""
    return master.startswith("local")


def cluster_settings(settings: PipelineSettings) -> dict[str, str]:
    """Return Spark's settings for a master that is not this process."""
    own = {
        "spark.executor.memory": settings.executor_memory,
        "spark.executor.cores": str(settings.executor_cores),
        f"spark.executorEnv.{FOLDER_VARIABLE}": settings.node_cache,
    }
    if settings.driver_host:
        own["spark.driver.host"] = settings.driver_host
    return _SETTINGS | own


def given_options(settings: PipelineSettings) -> dict[str, str]:
    """Return the options of Spark that the configuration adds, which win over all others."""
    options = {}
    for each in settings.spark_options:
        name, equals, value = each.partition("=")
        if not equals:
            raise ConfigError(f"pipeline.spark_options has {each!r}, which is not of the form name=value")
        options[name.strip()] = value.strip()
    return options


@cache
def own_version() -> str:
    """Return the version of Headrace in this process."""
    return version("headrace")


def check_version(wanted: str) -> None:
    """Raise VersionDiffers where this machine has another one: its tasks then go to those that have the same."""
    if own_version() != wanted:
        raise VersionDiffers(socket.gethostname(), own_version(), wanted)


def check_master(master: str) -> None:
    """Raise MasterUnreachable where no standalone master answers: Spark itself would try for a minute, and be brief."""
    if not master.startswith(_STANDALONE):
        return
    faults = [fault for each in master.removeprefix(_STANDALONE).split(",") if (fault := _fault_of(each))]
    if len(faults) == len(master.split(",")):
        raise MasterUnreachable(master, "; ".join(faults))


def _fault_of(address: str) -> str | None:
    try:
        parts = urlsplit(f"//{address}")
        with socket.create_connection((parts.hostname or "", parts.port or 7077), _CONNECT_SECONDS):
            return None
    except (OSError, ValueError) as error:
        return f"{address}: {error}"
