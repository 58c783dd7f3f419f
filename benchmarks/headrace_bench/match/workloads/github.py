"""Events as GitHub's webhooks send them, and filters in every dialect.

The filters follow people who watch a repository, an organisation, a colleague or a label; one in twenty needs an
evaluator of CEL, since it loops over a list or calls a function.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.events.event import Event
from headrace_bench.match.rules import Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ORGANISATIONS, _REPOSITORIES, _ACTORS = 3_000, 20_000, 40_000
_KINDS = {"push": 50, "pull_request": 18, "issues": 12, "issue_comment": 10, "watch": 7, "release": 3}
_ACTIONS = {
    "pull_request": ("opened", "closed", "synchronize", "labeled"),
    "issues": ("opened", "closed", "labeled", "assigned"),
    "issue_comment": ("created", "edited", "deleted"),
    "watch": ("started",),
    "release": ("published", "edited"),
}
_AREAS, _TOPICS = ("kind", "area", "priority"), ("bug", "docs", "api", "ui", "p0")
_LABELS = tuple(f"{area}/{topic}" for area in _AREAS for topic in _TOPICS)
_BRANCHES = ("main", "master", "develop", "release-1.0", "release-2.0")
_LANGUAGES = ("Python", "Go", "Java", "Rust", "TypeScript", "C++", "Shell")


@dataclass(frozen=True, slots=True)
class GitHub:
    """Filters as users write them: their meaning is compiled, nothing is put together by hand."""

    name: str = "github"
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)

    def rules(self, count: int, seed: int) -> Iterator[Written]:
        """Yield filters; a larger count begins with the filters of a smaller one."""
        chance = random.Random(f"github rules {seed}")
        dialects, weights = tuple(_BODIES), tuple(weight for weight, _ in _BODIES.values())
        for _ in range(count):
            (dialect,) = chance.choices(dialects, weights)
            yield Written({dialect: _BODIES[dialect][1](chance)})

    def events(self, count: int, seed: int) -> list[Event]:
        """Return events; some repositories and actors are busier than others."""
        chance = random.Random(f"github events {seed}")
        return [_event(number, chance) for number in range(count)]


def _skewed(count: int, chance: random.Random) -> int:
    return int(count * chance.random() ** 2)


def _repository(chance: random.Random) -> str:
    number = _skewed(_REPOSITORIES, chance)
    return f"org-{number % _ORGANISATIONS}/repo-{number}"


def _actor(chance: random.Random) -> str:
    return f"user-{_skewed(_ACTORS, chance)}"


def _kind(chance: random.Random) -> str:
    (kind,) = chance.choices(tuple(_KINDS), tuple(_KINDS.values()))
    return kind


def _type(chance: random.Random) -> str:
    return f"com.github.{_kind(chance)}"


def _event(number: int, chance: random.Random) -> Event:
    kind, repository, actor = _kind(chance), _repository(chance), _actor(chance)
    attributes: dict[str, Any] = {
        "specversion": "1.0",
        "id": f"delivery-{number}",
        "source": f"/github/{repository}",
        "type": f"com.github.{kind}",
        "time": f"2026-01-{1 + number % 28:02}T12:00:00Z",
        "datacontenttype": "application/json",
        "organisation": repository.partition("/")[0],
        "attempt": 1 + (chance.random() < 0.05),
    }
    if kind in ("pull_request", "issues", "issue_comment"):
        attributes["subject"] = f"{kind}/{chance.randrange(1, 5_000)}"
    data = {
        "actor": {"id": int(actor[5:]), "login": actor, "bot": chance.random() < 0.1},
        "repo": {
            "name": repository,
            "private": chance.random() < 0.2,
            "language": chance.choice(_LANGUAGES),
            "stars": int(chance.paretovariate(0.7)),
        },
        "payload": _payload(kind, actor, chance),
        "public": True,
    }
    return Event(attributes, msgspec.json.encode(data))


def _payload(kind: str, actor: str, chance: random.Random) -> dict[str, Any]:
    if kind == "push":
        commits = [
            {
                "sha": f"{chance.getrandbits(160):040x}",
                "message": f"Fix {chance.choice(_LABELS)}",
                "distinct": True,
            }
            for _ in range(chance.randint(1, 4))
        ]
        return {"ref": f"refs/heads/{chance.choice(_BRANCHES)}", "size": len(commits), "commits": commits}
    payload: dict[str, Any] = {"action": chance.choice(_ACTIONS[kind])}
    if kind in ("pull_request", "issues", "issue_comment"):
        payload["item"] = {
            "number": chance.randrange(1, 5_000),
            "title": f"{chance.choice(_LABELS)} breaks in {chance.choice(_LANGUAGES)}",
            "user": {"login": actor},
            "labels": chance.sample(_LABELS, chance.randrange(4)),
            "draft": chance.random() < 0.2,
            "comments": chance.randrange(50),
            "additions": chance.randrange(2_000),
        }
    return payload


def _exact(chance: random.Random) -> dict[str, str]:
    return {"type": _type(chance), "source": f"/github/{_repository(chance)}"}


def _prefix(chance: random.Random) -> dict[str, str]:
    return {"source": f"/github/org-{_skewed(_ORGANISATIONS, chance)}/", "type": "com.github."}


def _suffix(chance: random.Random) -> dict[str, str]:
    return {"source": f"/repo-{_skewed(_REPOSITORIES, chance)}"}


def _all(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"prefix": _prefix(chance)},
        {"not": {"exact": {"type": _type(chance)}}},
        {"cel": f"data.payload.item.comments > {chance.randrange(50)}"},
    ]


def _any(chance: random.Random) -> list[dict[str, Any]]:
    return [{"exact": _exact(chance)} for _ in range(chance.randint(2, 4))]


def _not(chance: random.Random) -> dict[str, Any]:
    # Not (anything but this, or a push): what is left is one repository's events of a kind.
    return {"any": [{"not": {"exact": _exact(chance)}}, {"suffix": {"type": "push"}}]}


def _sql(chance: random.Random) -> str:
    repository, organisation = _repository(chance), f"org-{_skewed(_ORGANISATIONS, chance)}"
    return chance.choice(
        [
            f"type = '{_type(chance)}' AND organisation = '{organisation}'",
            f"source LIKE '/github/{organisation}/%' AND attempt > 1",
            f"source = '/github/{repository}' AND EXISTS subject",
            f"organisation IN ('{organisation}', 'org-{chance.randrange(_ORGANISATIONS)}') AND subject LIKE 'issues/%'",
        ]
    )


def _cel(chance: random.Random) -> str:
    repository, label = _repository(chance), chance.choice(_LABELS)
    if chance.random() < 0.2:
        return chance.choice(
            [
                f'ce.source == "/github/{repository}" && data.payload.item.labels.exists(l, l.startsWith("{label}"))',
                f'data.repo.name == "{repository}" && data.payload.commits.all(c, c.message.contains("{label}"))',
                f'data.actor.login == "{_actor(chance)}" && size(data.payload.item.labels) > {chance.randrange(3)}',
            ]
        )
    return chance.choice(
        [
            f'data.repo.name == "{repository}"',
            f'data.actor.login == "{_actor(chance)}" && !data.repo.private',
            f'data.repo.name == "{repository}" && "{label}" in data.payload.item.labels',
            f'data.repo.name.startsWith("org-{_skewed(_ORGANISATIONS, chance)}/") && data.payload.action == "opened"',
            f"data.repo.stars >= {10 ** chance.randint(4, 6)} && data.actor.id < {chance.randrange(2_000)}",
            f'data.payload.ref == "refs/heads/release-2.0" && data.repo.name == "{repository}"',
        ]
    )


def _attributes(chance: random.Random) -> dict[str, str]:
    return {"type": _type(chance), "organisation": f"org-{_skewed(_ORGANISATIONS, chance)}"}


def _source_and_type(chance: random.Random) -> dict[str, str]:
    return {"source": f"/github/{_repository(chance)}", "type": _type(chance)}


def _message(chance: random.Random) -> dict[str, Any]:
    organisation = {
        "property": "organisation",
        "op": "equals",
        "value": f"org-{_skewed(_ORGANISATIONS, chance)}",
    }
    return {
        "and": [
            organisation,
            {"not": {"property": "type", "op": "in", "values": [_type(chance), _type(chance)]}},
            {"ref": "event_time", "op": "greater_than", "value": 1_700_000_000_000},
        ]
    }


def _streamer(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"field": "actor.login", "op": "==", "value": _actor(chance)},
        chance.choice(
            [
                {"field": "repo.language", "op": "in", "value": chance.sample(_LANGUAGES, 2)},
                {"field": "type", "op": "!=", "value": _type(chance)},
                {"field": "repo.stars", "op": ">", "value": chance.randrange(100)},
                {"field": "actor.bot", "op": "==", "value": False},
            ]
        ),
    ]


_BODIES: Mapping[str, tuple[int, Callable[[random.Random], Any]]] = {
    "exact": (100, _exact),
    "prefix": (80, _prefix),
    "suffix": (80, _suffix),
    "all": (100, _all),
    "any": (80, _any),
    "not": (20, _not),
    "sql": (100, _sql),
    "cel": (250, _cel),
    "attributes": (70, _attributes),
    "sourceAndType": (50, _source_and_type),
    "message": (70, _message),
    "streamer": (100, _streamer),
}
"""How often each dialect is used, and what is said in it."""
