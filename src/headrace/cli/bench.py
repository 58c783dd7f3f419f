"""`headrace bench`: measure on this machine."""

from __future__ import annotations

import click
import msgspec
from rich.console import Console

from headrace.bench import filters, ingress, pipeline, worst_filters
from headrace.bench.figures import show
from headrace.cli import options


@click.group()
def bench() -> None:
    """Measure what this machine reaches. What needs a service starts its own and removes it afterwards."""


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


@bench.command("pipeline")
@click.option("--rate", default=500.0, show_default=True, help="Events per second.")
@click.option("--seconds", default=20.0, show_default=True, help="How long to measure.")
@click.option("--batch", default=1, show_default=True, help="Events per request.")
@click.option("--subscriptions", default=10, show_default=True, help="How many; each event matches one.")
@click.option("--warm-up", default=15.0, show_default=True, help="Seconds before measuring, for the JVM.")
@click.option("--idle", default=10.0, show_default=True, help="Seconds of measuring the idle service.")
@options.as_json
def bench_pipeline(
    rate: float, seconds: float, batch: int, subscriptions: int, warm_up: float, idle: float, as_json: bool
) -> None:
    """From the POST to the sink at a steady rate: latency, processor time, and what idling costs.

    \b
    Example:
      headrace bench pipeline --rate 500 --seconds 20
    """
    plan = pipeline.PipelinePlan(rate, seconds, batch, subscriptions, warm_up, idle)
    with Console(stderr=True).status("starting") as status:
        figures = pipeline.run(plan, status.update)
    if as_json:
        click.echo(msgspec.json.encode(figures))
        return
    shown = {
        name: "  ".join(f"{part} {ms:g}" for part, ms in value.items()) if isinstance(value, dict) else value
        for name, value in figures.items()
    }
    show("Pipeline: POST to delivery", [shown])
