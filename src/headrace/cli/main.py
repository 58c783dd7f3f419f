"""`headrace`: the table of commands, and how errors are shown."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple

import click

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGINS = "headrace.commands"
"""The group of entry points by which other distributions add commands."""


class Listed(NamedTuple):
    """A command that is imported when it is used: which module has it, and what the list of commands says of it."""

    module: str
    attribute: str
    help: str


SECTIONS: dict[str, dict[str, Listed]] = {
    "Running it": {
        "up": Listed("service.up", "up", "Start the service on this machine and stay until Ctrl-C."),
        "pipeline": Listed(
            "service.pipeline", "pipeline", "Run the pipeline alone, here or on a Spark cluster."
        ),
        "demo": Listed("service.demo", "demo", "See it work: a service of its own, events, and a check."),
        "operator": Listed(
            "service.operator", "operator", "Serve the HeadraceChannel objects of a Kubernetes cluster."
        ),
    },
    "Events": {
        "publish": Listed("events.publish", "publish", "Send one event, or a file of events."),
        "listen": Listed("events.listen", "listen", "Print the events that are delivered here."),
        "tail": Listed("events.tail", "tail", "Print events of a channel as they come, without a sink."),
    },
    "Subscriptions and channels": {
        "subscribe": Listed("events.subscribe", "subscribe", "Ask for events: create a subscription."),
        "get": Listed("objects.get", "get", "List what there is, or show one thing."),
        "update": Listed("events.update", "update", "Change a subscription."),
        "pause": Listed("events.pause", "pause", "Let a subscription's events wait."),
        "resume": Listed("events.pause", "resume", "Deliver a subscription's events again."),
        "delete": Listed(
            "objects.delete", "delete", "End a subscription, or remove a channel or Knative's objects."
        ),
        "test-send": Listed("deliveries.probe", "test_send", "Send one event to a subscription's sink now."),
        "import": Listed("objects.import_", "import_", "Create many subscriptions from lines of JSON."),
        "export": Listed("objects.import_", "export", "Write the subscriptions as lines of JSON."),
        "apply": Listed(
            "objects.apply", "apply", "Bring channels, brokers and triggers to what manifests say."
        ),
    },
    "Filters": {
        "filter": Listed(
            "filters.command", "filter_", "Try a filter: what it means, and which events it wants."
        ),
    },
    "Deliveries": {
        "attempts": Listed(
            "deliveries.attempts", "attempts", "List the attempts that were made, and what sinks said."
        ),
        "retry": Listed("deliveries.redrive", "retry", "Deliver the event of an attempt again, now."),
        "redrive": Listed(
            "deliveries.redrive", "redrive", "Make many deliveries again: dead ones, or those that wait."
        ),
    },
    "History": {
        "seek": Listed("history.seek", "seek", "Deliver a subscription from a point of the history on."),
        "replay": Listed("history.replay", "replay", "Deliver events of the past once more."),
        "cancel": Listed("history.cancel", "cancel", "End a seek, replay, backtest or redrive."),
        "archive": Listed("service.archive", "archive", "Show and keep the archive of past events."),
    },
    "Access": {
        "keys": Listed("access.keys", "keys", "Make, list and revoke API keys."),
        "quotas": Listed("access.quotas", "quotas", "Show and set what namespaces may have."),
        "audit": Listed("access.audit", "audit", "List changes, the newest first."),
        "secrets": Listed(
            "access.secrets", "secrets", "Look after the keys that secrets are encrypted with."
        ),
    },
    "Looking after it": {
        "doctor": Listed(
            "service.doctor", "doctor", "Check this machine and this service, and say what to do."
        ),
        "config": Listed("service.config", "config", "Print every setting and where it comes from."),
        "backup": Listed("service.backup", "backup", "Copy everything that a service needs, while it runs."),
        "restore": Listed("service.restore", "restore", "Put a backup back, or mend a damaged database."),
        "migrate": Listed("service.migrate", "migrate", "Bring the databases to the newest version."),
    },
}
_LISTED = {name: listed for section in SECTIONS.values() for name, listed in section.items()}


class _Commands(click.Group):
    """Imports a command when it is used, and shows Headrace's errors without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*_LISTED, *sorted(entry_points(group=PLUGINS).names)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if listed := _LISTED.get(cmd_name):
            found = getattr(import_module(f"headrace.cli.{listed.module}"), listed.attribute)
        else:
            plugins = tuple(entry_points(group=PLUGINS, name=cmd_name))
            found = plugins[0].load() if plugins else None
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", listed.help) for name, listed in section.items()])
        if plugins := {each.name: each for each in entry_points(group=PLUGINS)}:
            with formatter.section("From other packages"):
                formatter.write_dl([(f"{name:{width}}", _summary(each)) for name, each in plugins.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HeadraceError as error:
            raise click.ClickException(str(error)) from error


def _summary(plugin: EntryPoint) -> str:
    """Say what a command is for without importing it: what its package says of itself."""
    return "" if plugin.dist is None else str(plugin.dist.metadata["Summary"])


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def main() -> None:
    """Route CloudEvents by their content.

    \b
    Try it:
      headrace demo                                            see it work, in half a minute
      headrace up                                              start the service
      headrace listen --port 9000                              print what arrives
      headrace subscribe --sink http://127.0.0.1:9000/ --prefix type=com.example.
      headrace publish --type com.example.order --data '{"amount": 7}'
      headrace tail --from earliest                            print what was and what comes, without a sink
    """
