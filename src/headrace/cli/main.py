"""`headrace`: the table of commands, and how errors are shown."""

from __future__ import annotations

import click

from headrace.cli.apply import apply
from headrace.cli.archive import archive
from headrace.cli.attempts import attempts
from headrace.cli.audit import audit
from headrace.cli.backtest import backtest
from headrace.cli.bench import bench
from headrace.cli.cancel import cancel
from headrace.cli.config import config
from headrace.cli.delete import delete
from headrace.cli.demo import demo
from headrace.cli.doctor import doctor
from headrace.cli.filter import filter_
from headrace.cli.get import get
from headrace.cli.import_ import export, import_
from headrace.cli.keys import keys
from headrace.cli.listen import listen
from headrace.cli.migrate import migrate
from headrace.cli.operator import operator
from headrace.cli.pause import pause, resume
from headrace.cli.pipeline import pipeline
from headrace.cli.probe import test_send
from headrace.cli.publish import publish
from headrace.cli.quotas import quotas
from headrace.cli.redrive import redrive, retry
from headrace.cli.replay import replay
from headrace.cli.secrets import secrets
from headrace.cli.seek import seek
from headrace.cli.subscribe import subscribe
from headrace.cli.tail import tail
from headrace.cli.up import up
from headrace.cli.update import update
from headrace.errors import HeadraceError


class _Commands(click.Group):
    """Keeps the order in which commands were added, and shows Headrace's errors without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HeadraceError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
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


filter_.add_command(backtest)
for _command in (
    up,
    pipeline,
    demo,
    publish,
    subscribe,
    update,
    import_,
    export,
    listen,
    tail,
    apply,
    get,
    pause,
    resume,
    delete,
    test_send,
    attempts,
    retry,
    redrive,
    filter_,
    seek,
    replay,
    cancel,
    archive,
    operator,
    keys,
    quotas,
    audit,
    secrets,
    migrate,
    config,
    doctor,
    bench,
):
    main.add_command(_command)
