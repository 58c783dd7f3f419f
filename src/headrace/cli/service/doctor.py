"""`headrace doctor`: can this machine run Headrace, and if not, what to do."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from headrace.auth.exposure import check_exposure, describe
from headrace.cli import options
from headrace.config import Config, load_config
from headrace.database.postgresql import examine
from headrace.errors import DatabaseDamaged, HeadraceError, SchemaRefused
from headrace.pipeline.spark.cluster import check_master
from headrace.pipeline.spark.java import find_java
from headrace.secrets.keys import KeyFile, keys_from
from headrace.service.processes.descriptors import LEAST, allowed, needed
from headrace.service.processes.heartbeats import last_beat
from headrace.service.role import ROLES
from headrace.service.storage.continuity import look_at_log
from headrace.service.storage.database_files import damages
from headrace.service.storage.databases import schema_versions
from headrace.service.storage.layout import Layout
from headrace.telemetry.readiness import judge

if TYPE_CHECKING:
    from collections.abc import Callable

_ENOUGH_DISK = 2 << 30


class _Finding(NamedTuple):
    good: bool
    what: str
    remedy: str = ""


@click.command()
@click.option("--spark", is_flag=True, help="Also start Spark and run a job; takes some seconds.")
@options.data
@options.config_file
@options.as_json
def doctor(spark: bool, data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Check Python, Java, Spark, port, limits, disk, databases, log, keys, access, and the service if it runs.

    What to do about each fault is said with it.

    \b
    Example:
      headrace doctor --spark
    """
    config = load_config(config_file, {"data": data})
    checks: dict[str, Callable[[Config], _Finding]] = {
        "python": _python,
        "java": _java,
        "spark": _spark_runs if spark else _spark,
        "port": _port,
        "files": _files,
        "disk": _disk,
        "sync": _sync,
        "store": _store,
        "log": _log,
        "secrets": _secrets,
        "access": _access,
        "service": _service,
    }
    findings = {}
    for name, check in checks.items():
        findings[name] = finding = check(config)
        if not as_json:
            mark = click.style("ok  ", fg="green") if finding.good else click.style("FAIL", fg="red")
            click.echo(f"{mark} {name:<7} {finding.what}")
            if not finding.good:
                click.echo(f"             {finding.remedy}")
    if as_json:
        click.echo(msgspec.json.encode({name: finding._asdict() for name, finding in findings.items()}))
    sys.exit(0 if all(finding.good for finding in findings.values()) else 1)


def _python(_: Config) -> _Finding:
    version = sys.version.split()[0]
    return _Finding(sys.version_info >= (3, 11), f"Python {version}", "Use Python 3.11 or newer.")


def _java(config: Config) -> _Finding:
    try:
        with tempfile.TemporaryDirectory() as scratch:
            java = find_java(Path(scratch))
    except HeadraceError as error:
        return _Finding(False, "no usable Java", str(error))
    del config
    return _Finding(True, f"Java {java.version} from {java.origin}")


def _spark(config: Config) -> _Finding:
    try:
        check_master(config.pipeline.master)
    except HeadraceError as error:
        return _Finding(False, f"no master at {config.pipeline.master}", str(error))
    return _Finding(True, f"PySpark {importlib.metadata.version('pyspark')} (--spark starts it)")


def _spark_runs(config: Config) -> _Finding:
    from headrace.pipeline.spark.session import Session  # loads Spark, which takes a second

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            session = Session(config.pipeline, Path(scratch))
            rows, version = session.spark.range(3).count(), session.spark.version
            session.stop()
        except Exception as error:  # noqa: BLE001  whatever it is, the user should read it
            return _Finding(False, "Spark doesn't run", str(error))
    took = time.monotonic() - began
    return _Finding(
        rows == 3, f"Spark {version} ran a job, {took:.0f} s with its start", "See the output above."
    )


def _port(config: Config) -> _Finding:
    where = f"{config.api.host}:{config.api.port}"
    with socket.socket(socket.AF_INET6 if ":" in config.api.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((config.api.host, config.api.port))
        except OSError as error:
            remedy = "Stop what listens there, or choose another: headrace up --port …"
            return _Finding(False, f"{where}: {error.strerror}", remedy)
    return _Finding(True, f"{where} is free")


def _files(config: Config) -> _Finding:
    """How many files and connections a process may have open."""
    may, wanted = allowed(), needed(config)
    remedy = f"Raise the limit before the start: ulimit -n {wanted} (systemd: LimitNOFILE={wanted})."
    return _Finding(may >= LEAST, f"a process may open {may} files, and may need {wanted}", remedy)


def _disk(config: Config) -> _Finding:
    folder = _existing(config.data)
    free = shutil.disk_usage(folder).free
    remedy = f"Free some space, or choose another folder: headrace up --data …; 503 is answered when {folder} is full."
    return _Finding(free >= _ENOUGH_DISK, f"{free / 2**30:.1f} GiB free for {config.data}", remedy)


def _sync(config: Config) -> _Finding:
    """A 202 waits for a sync: its time is the least latency of an event."""
    folder = _existing(Layout(config.data).log)
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            began = time.perf_counter()
            for _ in range(20):
                file.write(bytes(4096))
                file.flush()
                os.fdatasync(file.fileno())
            took = (time.perf_counter() - began) / 20
    except OSError as error:
        return _Finding(
            False, f"{folder}: {error.strerror}", "Choose a folder that can be written: headrace up --data …"
        )
    remedy = "Each 202 waits for one of these: put --data on a faster disk."
    return _Finding(took < 0.1, f"a durable write takes {took * 1000:.1f} ms in {folder}", remedy)


def _store(config: Config) -> _Finding:
    """Every role but the pipeline's executors talks to it."""
    damaged = damages(config)
    if damaged:
        what = "; ".join(f"{each.path}: {each.finding}" for each in damaged)
        return _Finding(False, what, "\n             ".join(map(str, damaged)))
    addresses = dict.fromkeys((config.store.url, config.delivery.url))
    servers = [url for url in addresses if not url.startswith("sqlite")]
    findings = [_server(url) for url in servers] or [_Finding(True, "SQLite in the data folder")]
    bad = [finding for finding in findings if not finding.good]
    return bad[0] if bad else _versions(config, findings[0].what)


def _versions(config: Config, what: str) -> _Finding:
    """A database that is newer than this Headrace would stop it at its start."""
    try:
        older = [each for each in schema_versions(config) if not each.is_new]
    except SchemaRefused as error:
        return _Finding(False, f"the tables in {error.database} are too new", str(error))
    if not older:
        return _Finding(True, f"{what}, its tables are up to date")
    if not any(each.version for each in older):
        return _Finding(True, f"{what}, its tables are made at the start")
    names = ", ".join(each.family for each in older if each.version)
    return _Finding(True, f"{what}, a start migrates {names}: make a copy before (headrace migrate)")


def _log(config: Config) -> _Finding:
    if config.log.kind == "local":
        return _embedded_log(config)
    remedy = "Start a broker there, or correct kafka.bootstrap, kafka.topics or kafka.client_options."
    try:
        from headrace.eventlog.kafka.topics import describe_brokers  # optional dependency

        return _Finding(True, describe_brokers(config.kafka))
    except ImportError:
        return _Finding(
            False, "the client of Kafka isn't installed", 'Install it: pip install "headrace[kafka]"'
        )
    except HeadraceError as error:
        return _Finding(False, str(error), remedy)


def _embedded_log(config: Config) -> _Finding:
    """A log that others are ahead of would be refused at the start; holes of the outbox heal while it runs."""
    try:
        standing = look_at_log(config)
    except DatabaseDamaged:
        return _Finding(
            False, "it can't be compared with a ledger that is damaged", "Mend the database first."
        )
    except HeadraceError as error:
        return _Finding(False, "log, outbox and ledger don't fit together", str(error))
    return _Finding(True, standing)


def _secrets(config: Config) -> _Finding:
    keys = keys_from(config.store.secrets_file, config.store.secrets_keys)
    try:
        ring = keys.ring()
    except HeadraceError as error:
        return _Finding(False, "the keys of secrets can't be used", str(error))
    if not ring:
        return _Finding(True, "no key yet: it is made with the first secret")
    if isinstance(keys, KeyFile) and not keys.is_private():
        return _Finding(
            False, f"others can read {keys.path}", f"Take their rights away: chmod 600 {keys.path}"
        )
    return _Finding(True, f"{len(ring)} key(s) from {keys.where}")


def _access(config: Config) -> _Finding:
    """Who is let in, and whether anybody can be."""
    what = describe(config.api.host, config.auth)
    try:
        check_exposure(config.api.host, config.auth)
    except HeadraceError as error:
        return _Finding(False, f"{config.api.host} would be open to everybody", str(error))
    return _Finding(True, what)


def _service(config: Config) -> _Finding:
    """What `/readyz` says, and without asking it: it may be the one that doesn't answer."""
    run_folder = Layout(config.data).run
    heard = {role: judge(beat) for role in ROLES if (beat := last_beat(run_folder, role)) is not None}
    if not heard:
        return _Finding(True, f"none runs on {config.data}")
    unwell = {role: each for role, each in heard.items() if not each.is_ready}
    if not unwell:
        notes = "; ".join(f"{role}: {each.did}" for role, each in heard.items() if each.did)
        return _Finding(True, f"ready: {', '.join(heard)}. {notes}")
    what = ", ".join(f"{role} is {each.state}" for role, each in unwell.items())
    return _Finding(False, what, " ".join(f"{role}: {each.problem}." for role, each in unwell.items()))


def _server(url: str) -> _Finding:
    try:
        server = examine(url)
    except HeadraceError as error:
        remedy = (
            "Start the server, or correct the address, the user or the password (store.url, delivery.url)."
        )
        return _Finding(False, str(error), remedy)
    what = f"PostgreSQL {server.version}, a round trip takes {server.round_trip * 1000:.1f} ms"
    return _Finding(not server.faults, "; ".join([what, *server.faults]), server.remedy)


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
