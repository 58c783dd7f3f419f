"""What a sink's HTTP answer means: Knative's rules for its status, Retry-After, and an event as a reply."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.errors import HeadraceError
from headrace.events.bindings.http import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.events import Event

# Knative's list: what may heal by itself. Any other answer below 500 stays wrong however often it is asked for.
_MAY_HEAL = frozenset({404, 408, 409, 429})
_UNAUTHORIZED, _GONE = 401, 410
_ACCEPTED = 202  # never a reply: the sink has yet to do its work
_KEPT_BYTES = 1024  # what a dead letter carries of the answer
_SHOWN_BYTES = 200
_KEPT_HEADERS, _HEADER_CHARACTERS = 50, 256
_REMEMBERED = 256

MOST_BYTES = 65_536
"""More of an answer than that is not read: its connection is closed."""

MOST_REPLY_BYTES = 1 << 20
"""The same where a reply is wanted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as it was read; `whole` says whether that is all of it."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    whole: bool


def most_bytes(*, wants_reply: bool) -> int:
    """Return how much of an answer is read."""
    return MOST_REPLY_BYTES if wants_reply else MOST_BYTES


def judge(answer: Answer, *, wants_reply: bool) -> Outcome:
    """Say what happens to the delivery next."""
    status = answer.status
    if 200 <= status < 300:
        if wants_reply and status != _ACCEPTED:
            return _judge_reply(answer)
        return _outcome(Verdict.DONE, "", answer)
    shown = answer.body[:_SHOWN_BYTES].decode(errors="replace")
    reason = f"status {status}: {shown}" if shown else f"status {status}"
    return _outcome(_verdict(status), reason, answer)


def _verdict(status: int) -> Verdict:
    if status == _GONE:
        return Verdict.GONE
    return Verdict.AGAIN if status >= 500 or status in _MAY_HEAL else Verdict.NEVER


def _judge_reply(answer: Answer) -> Outcome:
    """Read the event of an answer. One that broke off is asked for again: its reply would be lost."""
    if not _holds_event(answer):
        return _outcome(Verdict.DONE, "", answer)
    if not answer.whole:
        if len(answer.body) <= MOST_REPLY_BYTES:
            return _outcome(Verdict.AGAIN, f"status {answer.status}, but the reply broke off", answer)
        return _outcome(Verdict.DONE, f"the reply has more than {MOST_REPLY_BYTES} bytes: dropped", answer)
    try:
        events = decode(answer.headers, answer.body)
    except HeadraceError as error:
        return _outcome(Verdict.DONE, f"the reply is no CloudEvent: {error}", answer)
    if len(events) != 1:
        return _outcome(Verdict.DONE, "the reply is a batch, where one event was asked for: dropped", answer)
    return _outcome(Verdict.DONE, "", answer, events[0])


def _holds_event(answer: Answer) -> bool:
    return any(
        name.lower() == b"ce-specversion"
        or (name.lower() == b"content-type" and value.lower().startswith(b"application/cloudevents"))
        for name, value in answer.headers
    )


def _outcome(verdict: Verdict, reason: str, answer: Answer, reply: Event | None = None) -> Outcome:
    headers, later = _kept_headers(tuple(answer.headers[:_KEPT_HEADERS]))
    retry_after = None if later is None else seconds_until(later)
    body, unauthorized = answer.body[:_KEPT_BYTES], answer.status == _UNAUTHORIZED
    return Outcome(
        verdict, reason, answer.status, headers, body, retry_after, reply, unauthorized=unauthorized
    )


@lru_cache(_REMEMBERED)
def _kept_headers(
    raw: tuple[tuple[bytes, bytes], ...],
) -> tuple[tuple[tuple[str, str], ...], str | None]:
    """Return what is kept of an answer's headers, and its Retry-After. A sink's answers mostly have the same ones."""
    read = [(name.decode("latin-1"), value[:_HEADER_CHARACTERS].decode("latin-1")) for name, value in raw]
    later = [value for name, value in read if name.lower() == "retry-after"]
    # Set-Cookie is a secret, of no use to anybody here.
    kept = tuple((name, value) for name, value in read if name.lower() != "set-cookie")
    return kept, later[-1] if later else None


def seconds_until(value: str) -> float | None:
    """Read a Retry-After, a number of seconds or a date; None if it is neither."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None
