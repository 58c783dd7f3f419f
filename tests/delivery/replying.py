"""A sender that takes every 2xx of a sink at /asks for an answer with an event."""

from dataclasses import replace

from tests.delivery.harness import sample

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.protocols.http.sender import HttpSender


class ReplyingSender(HttpSender):
    """The reply has the id of the event, behind 900."""

    def __init__(self, guard, **attributes):
        super().__init__(guard)
        self._attributes = {"subject": "the answer", **attributes}

    async def send(self, target, payloads):
        outcome = await super().send(target, payloads)
        if outcome.verdict is Verdict.DONE and target.uri.endswith("/asks"):
            number = int(payloads[0].recorded.event.id)
            return replace(outcome, reply=sample(900 + number, **self._attributes))
        return outcome
