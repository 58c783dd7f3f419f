"""The union of many criteria, as one CEL expression and as one Bloom filter.

Many criteria take seconds to compile, so that is done in another process: `python -m headrace.interest` reads a
`BuildTask` from its standard input, and writes a `BuiltInterest` to its standard output.
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
from headrace.interest.criteria import expression_of
from headrace.subscriptions.channels.name import ChannelName  # noqa: TC001  msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.filters.upstream.bloom import Header

_SECONDS = 900.0


class InterestText(msgspec.Struct, frozen=True):
    """A CEL expression that holds wherever a criterion does and, if `exact`, nowhere else."""

    cel: str
    exact: bool


class BuildTask(msgspec.Struct, frozen=True):
    """The criteria to join, and the bounds of the result."""

    channel: ChannelName
    criteria: list[bytes]
    longest: int
    share: float


class BuiltInterest(msgspec.Struct, frozen=True):
    """The result of a task."""

    text: InterestText
    bloom: bytes


def write_text(task: BuildTask) -> InterestText:
    """Join criteria into one expression that uses at most `share` of each limit of a filter."""
    made = [expression_of(criterion, task.channel) for criterion in task.criteria]
    joined = union(
        (Filter(each.expression) for each in made),
        longest=int(task.longest * task.share),
        limits=_shared(task.share),
    )
    return InterestText(joined.cel, not joined.widened and all(each.exact for each in made))


def _shared(share: float) -> Limits:
    counted = ("atoms", "macros", "scans")
    return replace(DEFAULT_LIMITS, **{each: int(getattr(DEFAULT_LIMITS, each) * share) for each in counted})


def write_bloom(
    channel: ChannelName, criteria: Collection[bytes], like: Header | None = None
) -> ExportedBloom:
    """Join criteria into one Bloom filter, which can be merged with the one it is `like`."""
    matcher = matching.Matcher()
    matcher.add_many(
        (str(number), Filter(expression_of(criterion, channel).expression))
        for number, criterion in enumerate(criteria)
    )
    return ExportedBloom.from_bytes(
        matching.export_bloom(matcher, (channel.namespace, channel.name), like=like)
    )


class BuildProcess:
    """Another process that carries out a task."""

    def __init__(self, task: BuildTask) -> None:
        command = (sys.executable, "-m", "headrace.interest")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        self._task = task

    def wait(self) -> BuiltInterest:
        """Return the result; raise OSError, subprocess.SubprocessError or msgspec.DecodeError."""
        with self._process:
            try:
                output, _ = self._process.communicate(msgspec.msgpack.encode(self._task), _SECONDS)
            except BaseException:
                self._process.kill()
                raise
        if self._process.returncode:
            raise subprocess.CalledProcessError(self._process.returncode, self._process.args)
        return msgspec.msgpack.decode(output, type=BuiltInterest)

    def end(self) -> None:
        """Kill the process; `wait` raises then."""
        self._process.kill()


def build(task: BuildTask) -> BuiltInterest:
    """Carry out a task."""
    return BuiltInterest(write_text(task), write_bloom(task.channel, task.criteria).to_bytes())
