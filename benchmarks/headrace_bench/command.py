"""`headrace bench`: measure on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import click
import msgspec
from rich.console import Console

from headrace.cli import options
from headrace.cli.history.plots import require_plots
from headrace.cli.interrupt import end_as_with_ctrl_c
from headrace.errors import HeadraceError
from headrace_bench import api, backlog, delivery, filters, ingress, pipeline, worst_filters
from headrace_bench.figures import show, show_one
from headrace_bench.match import plot
from headrace_bench.match.bloom import BloomPlan, measure_bloom, print_bloom
from headrace_bench.match.report import print_report
from headrace_bench.match.run import MatchPlan
from headrace_bench.match.run import run as run_match
from headrace_bench.match.workloads.table import CHOICES, LETTERS


@click.group()
def bench() -> None:
    """Measure what this machine reaches. What needs a service starts its own and removes it afterwards."""
    end_as_with_ctrl_c()


@bench.command("filters")
@click.option(
    "--filters",
    "count",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Filters to compile, per dialect.",
)
@click.option(
    "--events",
    type=click.IntRange(1),
    default=400,
    show_default=True,
    help="Events to evaluate 50 of them on.",
)
@click.option("--seed", default=11, show_default=True, help="What filters and events are generated from.")
@options.as_json
def bench_filters(count: int, events: int, seed: int, as_json: bool) -> None:
    """How many filters compile per second of a processor, and on how many events each back end evaluates one.

    Google's evaluator of CEL gets the same filters and events. Fails if two back ends disagree on the matches.
    Then what the most expensive filters that are accepted cost one event.

    \b
    Example:
      headrace bench filters --filters 1000 --events 400
    """
    with Console(stderr=True).status("starting") as status:
        rows = filters.run(filters.FiltersPlan(count, events, seed), status.update)
        status.update("measuring the worst filters")
        worst = worst_filters.run()
    if as_json:
        click.echo(msgspec.json.encode({"dialects": rows, "worst": worst}))
    else:
        show("Filters: per second of one processor", rows)
        show("The worst filters at the limits: one filter on one event", worst)


@bench.command("ingress")
@click.option("--seconds", default=10.0, show_default=True, help="How long to measure each mode.")
@click.option("--connections", default=64, show_default=True, help="Producers at a time.")
@click.option("--batch", default=100, show_default=True, help="Events per request in batched mode.")
@options.as_json
def bench_ingress(seconds: float, connections: int, batch: int, as_json: bool) -> None:
    """How many events a second become durable, with syncs and bytes.

    \b
    Example:
      headrace bench ingress --seconds 10 --connections 64 --batch 100
    """
    plan = ingress.IngressPlan(seconds, connections, batch)
    with Console(stderr=True).status(f"measuring three modes, {seconds:g} s each"):
        rows = ingress.run(plan)
    if as_json:
        click.echo(msgspec.json.encode(rows))
    else:
        show("Ingress: a 202 follows the sync of the log", rows)


@bench.command("api")
@click.option(
    "--subscriptions", type=click.IntRange(1), default=100_000, show_default=True, help="How many to import."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=5.0,
    show_default=True,
    help="How long to measure each operation.",
)
@click.option("--connections", default=8, show_default=True, help="Clients at a time.")
@click.option("--effects", default=50, show_default=True, help="New subscriptions that are waited for.")
@click.option(
    "--store-url", default="", help="An empty database of a PostgreSQL server, in the place of SQLite."
)
@options.as_json
def bench_api(
    subscriptions: int, seconds: float, connections: int, effects: int, store_url: str, as_json: bool
) -> None:
    """How fast subscriptions are imported, created, read and updated, and how soon a new one is in effect.

    \b
    Examples:
      headrace bench api --subscriptions 100000
      headrace bench api --store-url postgresql+psycopg://headrace@db.example/empty
    """
    plan = api.ApiPlan(subscriptions, seconds, connections, effects, store_url)
    with Console(stderr=True).status("starting") as status:
        figures = api.run(plan, status.update)
    if as_json:
        click.echo(msgspec.json.encode(figures))
    else:
        show_one("The control API", figures)


def _sizes(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    try:
        sizes = tuple(int(each.replace("_", "")) for each in text.split(",")) if text else ()
    except ValueError as error:
        raise click.BadParameter(f"'{text}' isn't a list of numbers: 1000,10000") from error
    if any(size < 1 for size in sizes):
        raise click.BadParameter("a matcher is measured with one rule or more")
    return sizes


@bench.command("match")
@click.option(
    "--workload",
    "workloads",
    type=click.Choice([*LETTERS, *CHOICES, "all"]),
    multiple=True,
    default=["all"],
    show_default=True,
    help="a citylots, b github, c worst, d skew. May be given several times.",
)
@click.option(
    "--rules", callback=_sizes, metavar="N,N,…", help="How many rules, instead of each workload's sizes."
)
@click.option("--events", type=click.IntRange(1), default=10_000, show_default=True, help="Events to match.")
@click.option(
    "--batch", type=click.IntRange(1), default=2_048, show_default=True, help="Events per Arrow batch."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=5.0,
    show_default=True,
    help="How long to repeat each measurement.",
)
@click.option("--seed", default=11, show_default=True, help="What rules and events are generated from.")
@click.option("--peers", is_flag=True, help="Measure other engines too; they are fetched on first use.")
@click.option("--bloom", is_flag=True, help="Only what the Bloom filter costs and saves, on city lots.")
@click.option(
    "--json",
    "json_file",
    type=click.File("wb", lazy=True),
    help="Write the figures here; `-` is standard output.",
)
@click.option(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw them: FILE.png or FILE.svg.",
)
def bench_match(
    workloads: tuple[str, ...],
    rules: tuple[int, ...],
    events: int,
    batch: int,
    seconds: float,
    seed: int,
    peers: bool,
    bloom: bool,
    json_file: IO[bytes] | None,
    picture: Path | None,
) -> None:
    """How many events a second the matcher takes on one core, and how that changes with the number of rules.

    Each measurement has a process of its own. Rates are per second of processor time, JSON parsed within; the wall's
    are shown too. With --peers the same rules and events go to AWS Event Ruler, quamina and Google's CEL, as far as
    these have words for them; it fails if one of them finds other matches.

    \b
    Example:
      headrace bench match --workload a --rules 1000,10000 --events 1000 --seconds 1
    """
    if bloom:
        _bench_bloom(BloomPlan(rules, events, seconds, batch, seed), json_file)
        return
    if picture is not None:
        require_plots()
    plan = MatchPlan(workloads, rules, events, seconds, batch, seed, peers)
    with Console(stderr=True).status("starting") as status:
        report = run_match(plan, status.update)
    for reason in report.left_out:
        click.echo(reason, err=True)
    if json_file is not None:
        json_file.write(msgspec.json.encode(report.document()))
    if picture is not None:
        plot.draw(report, picture)
    if json_file is None or json_file.name != "-":
        print_report(report)
    if report.disagreements:
        raise HeadraceError("; ".join(report.disagreements))


def _bench_bloom(plan: BloomPlan, json_file: IO[bytes] | None) -> None:
    with Console(stderr=True).status("starting") as status:
        rows = measure_bloom(plan, status.update)
    if json_file is not None:
        json_file.write(msgspec.json.encode({"bloom": rows}))
    if json_file is None or json_file.name != "-":
        print_bloom(rows)


@bench.command("pipeline")
@click.option(
    "--subscriptions",
    "sizes",
    callback=_sizes,
    default="1000",
    show_default=True,
    metavar="N,N,…",
    help="How many; each event matches one. Each number is measured with a service of its own.",
)
@click.option("--rate", default=500.0, show_default=True, help="Events per second.")
@click.option("--seconds", default=20.0, show_default=True, help="How long to measure.")
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Events per request.")
@click.option("--warm-up", default=15.0, show_default=True, help="Seconds before measuring, for the JVM.")
@click.option("--idle", default=0.0, show_default=True, help="Seconds of measuring the idle service.")
@click.option("--backlog", default=0, show_default=True, help="Events to let wait, and then to drain.")
@click.option("--deliver", is_flag=True, help="Deliver to a sink too, and measure from the POST to it.")
@click.option(
    "--log",
    type=click.Choice(["local", "kafka"]),
    default="local",
    show_default=True,
    help="Where log and outbox are; in Kafka at kafka.bootstrap, in topics that are left behind.",
)
@options.as_json
def bench_pipeline(
    sizes: tuple[int, ...],
    rate: float,
    seconds: float,
    batch: int,
    warm_up: float,
    idle: float,
    backlog: int,
    deliver: bool,
    log: str,
    as_json: bool,
) -> None:
    """The route at a steady rate: from the 202 to the outbox, lag and memory over time, the cost of each stage.

    Lag and MB are told as the mean of the first quarter of the time, that of the last, and the most: what grows
    without limit shows there. With --json they come second by second as well.

    \b
    Examples:
      headrace bench pipeline --rate 500 --seconds 20 --deliver --idle 10
      headrace bench pipeline --subscriptions 1000,100000 --rate 10000 --batch 100 --seconds 60 --backlog 500000
      HEADRACE_KAFKA_BOOTSTRAP=broker:9092 headrace bench pipeline --log kafka
    """
    figures = []
    with Console(stderr=True).status("starting") as status:
        for size in sizes:
            plan = pipeline.PipelinePlan(size, rate, seconds, batch, warm_up, idle, backlog, deliver, log)
            figures.append(pipeline.run(plan, status.update))
    if as_json:
        click.echo(msgspec.json.encode(figures))
        return
    shown = [
        {
            name: "  ".join(f"{part} {number:g}" for part, number in value.items())
            if isinstance(value, dict)
            else value
            for name, value in each.items()
            if name != "series"
        }
        for each in figures
    ]
    for each in shown:
        show_one(f"Pipeline: {each['subscriptions']:,} subscriptions", each)


def _servers(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    servers = dict(each.partition("=")[::2] for each in given)
    for protocol, address in servers.items():
        if protocol not in delivery.PROTOCOLS or not address:
            raise click.BadParameter(
                f"'{protocol}={address}': give PROTOCOL=ADDRESS, of {', '.join(delivery.PROTOCOLS)}"
            )
    return servers


@bench.command("delivery")
@click.option("--deliveries", type=click.IntRange(100), default=40_000, show_default=True, help="How many.")
@click.option(
    "--subscriptions", type=click.IntRange(1), default=4, show_default=True, help="For so many sinks."
)
@click.option(
    "--concurrency", type=click.IntRange(1), default=16, show_default=True, help="Attempts of each."
)
@click.option("--rate", default=300.0, show_default=True, help="Events per second of the steady measurement.")
@click.option("--seconds", default=10.0, show_default=True, help="How long that takes.")
@click.option(
    "--neighbours", default=100, show_default=True, help="Hanging sinks beside a live one; 0: none."
)
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    type=click.Choice([*delivery.PROTOCOLS, "all"]),
    default=("HTTP",),
    show_default=True,
    help="Measure these. A server is started for each, where it is installed.",
)
@click.option(
    "--server",
    "servers",
    multiple=True,
    callback=_servers,
    metavar="PROTOCOL=URI",
    help="Measure this protocol with that server, its topic, subject or queue headrace-bench.",
)
@click.option(
    "--kafka-jars",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Start a Kafka broker from the jars of this folder; scripts/fetch-jars prints one.",
)
@options.as_json
def bench_delivery(
    deliveries: int,
    subscriptions: int,
    concurrency: int,
    rate: float,
    seconds: float,
    neighbours: int,
    protocols: tuple[str, ...],
    servers: dict[str, str],
    kafka_jars: Path | None,
    as_json: bool,
) -> None:
    """The dispatcher alone: deliveries per second from a backlog, latency at a rate, next to the library's own loop.

    HTTP has a sink of its own, in another process. All figures come from the log of attempts. Then whether sinks that
    hang slow a live one: they get as many events together as it does, and then each of them gets every one.

    \b
    Examples:
      headrace bench delivery --deliveries 2000 --seconds 2 --neighbours 10
      headrace bench delivery --protocol NATS --protocol MQTT5 --neighbours 0
      headrace bench delivery --protocol all --kafka-jars ~/kafka/libs
      headrace bench delivery --protocol KAFKA --server KAFKA=kafka://127.0.0.1:9092
    """
    names = list(delivery.PROTOCOLS) if "all" in protocols else list(dict.fromkeys([*protocols, *servers]))
    plan = delivery.DeliveryPlan(
        names, servers, kafka_jars, deliveries, subscriptions, concurrency, rate, seconds, neighbours
    )
    with Console(stderr=True).status("starting") as status:
        figures = delivery.run(plan, status.update)
    if as_json:
        click.echo(msgspec.json.encode(figures))
        return
    for row in figures["protocols"]:
        show_one(f"Delivery: {row['protocol']}", row)
    if figures["isolation"]:
        show("A live sink beside sinks that hang", figures["isolation"])


@bench.command("backlog")
@click.option(
    "--waiting", type=click.IntRange(100), default=10_000_000, show_default=True, help="Deliveries that wait."
)
@click.option(
    "--subscriptions", type=click.IntRange(1), default=100, show_default=True, help="For so many sinks."
)
@click.option("--sink-ms", default=50.0, show_default=True, help="How long the sink takes for an answer.")
@click.option(
    "--seconds", default=60.0, show_default=True, help="How long the dispatcher is watched at most."
)
@click.option(
    "--data",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where the ledger is made: ten million rows take 4 GB.",
)
@options.as_json
def bench_backlog(
    waiting: int, subscriptions: int, sink_ms: float, seconds: float, folder: Path | None, as_json: bool
) -> None:
    """A dispatcher with millions of deliveries that wait, and a slow sink: what it takes of memory over time.

    \b
    Examples:
      headrace bench backlog --waiting 100000 --seconds 10
      headrace bench backlog --data /var/tmp
    """
    plan = backlog.BacklogPlan(waiting, subscriptions, sink_ms / 1000, seconds, folder)
    with Console(stderr=True).status("starting") as status:
        figures = backlog.run(plan, status.update)
    if as_json:
        click.echo(msgspec.json.encode(figures))
        return
    series = figures.pop("series")
    show_one("Backlog", figures)
    show("Over time", series[:: max(1, len(series) // 12)])


@bench.command("seek")
@click.option(
    "--events",
    type=click.IntRange(10),
    default=1_000_000,
    show_default=True,
    help="Archived events to search.",
)
@click.option(
    "--data",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the archive here, and use it again the next time.",
)
@options.as_json
def bench_seek(events: int, folder: Path | None, as_json: bool) -> None:
    """How much of an archive a seek reads to find one event, and how long it takes; against reading everything.

    The event stands behind nine tenths of the others. Fails if it isn't found.

    \b
    Example:
      headrace bench seek --events 20000
    """
    from headrace_bench import seek  # Spark is heavy, and only this command runs it in its own process

    with Console(stderr=True).status("starting") as status:
        rows = seek.run(seek.SeekPlan(events, folder), status.update)
    if as_json:
        click.echo(msgspec.json.encode(rows))
    else:
        show("Seek: one event among many", rows)
