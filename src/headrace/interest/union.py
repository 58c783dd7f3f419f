"""Wants, joined: into one CEL expression, and into one Bloom filter.

Many wants take many seconds to compile, so that is done in a process of its own: `python -m headrace.interest` reads a
`Task` from its standard input and writes `Built` to its standard output.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from headrace import matching
from headrace.filters import Filter, union
from headrace.filters.bounds.limits import DEFAULT_LIMITS, Limits
from headrace.filters.upstream.bloom import ExportedBloom
from headrace.interest.wants import expression_of
from headrace.subscriptions.channels.name import ChannelName  # noqa: TC001  msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.filters.upstream.bloom import Header

_SECONDS = 900.0


class Text(msgspec.Struct, frozen=True):
    """A CEL expression that holds wherever a want does; `exact`: and nowhere else."""

    cel: str
    exact: bool


class Task(msgspec.Struct, frozen=True):
    """What is to be joined, and how long the text may become."""

    channel: ChannelName
    wants: list[bytes]
    longest: int
    share: float


class Built(msgspec.Struct, frozen=True):
    """What has become of a task."""

    text: Text
    bloom: bytes


def write_text(task: Task) -> Text:
    """Join wants into one expression, with `share` of what a filter may have of anything."""
    made = [expression_of(want, task.channel) for want in task.wants]
    joined = union(
        (Filter(each.expression) for each in made),
        longest=int(task.longest * task.share),
        limits=_shared(task.share),
    )
    return Text(joined.cel, not joined.widened and all(each.exact for each in made))


def _shared(share: float) -> Limits:
    counted = ("atoms", "macros", "scans")
    return replace(DEFAULT_LIMITS, **{each: int(getattr(DEFAULT_LIMITS, each) * share) for each in counted})


def write_bloom(channel: ChannelName, wants: Collection[bytes], like: Header | None = None) -> ExportedBloom:
    """Join wants into one Bloom filter, which can be joined with one that it is `like`."""
    matcher = matching.Matcher()
    matcher.add_many(
        (str(number), Filter(expression_of(want, channel).expression)) for number, want in enumerate(wants)
    )
    return ExportedBloom.from_bytes(
        matching.export_bloom(matcher, (channel.namespace, channel.name), like=like)
    )


class Apart:
    """The making in another process."""

    def __init__(self, task: Task) -> None:
        command = (sys.executable, "-m", "headrace.interest")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        self._task = task

    def wait(self) -> Built:
        """Return what was made; raises OSError, a subprocess.SubprocessError or msgspec's DecodeError."""
        with self._process:
            try:
                output, _ = self._process.communicate(msgspec.msgpack.encode(self._task), _SECONDS)
            except BaseException:
                self._process.kill()
                raise
        if self._process.returncode:
            raise subprocess.CalledProcessError(self._process.returncode, self._process.args)
        return msgspec.msgpack.decode(output, type=Built)

    def end(self) -> None:
        """Give it up; `wait` raises then."""
        self._process.kill()


def build(task: Task) -> Built:
    """Join wants in both ways."""
    return Built(write_text(task), write_bloom(task.channel, task.wants).to_bytes())
