"""Who wants the events of a run: by the levels of the index, and by the delta before them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.truth import UNKNOWN
from headrace.matching.index.limits import UNLIMITED
from headrace.matching.pairs import NOBODY, members_of, pairs_of, rows_of
from headrace.matching.residual import judged, settle
from headrace.matching.rules.catalogue import narrowed

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.bloom.watch import BloomWatch
    from headrace.matching.extraction.extractor import Extract
    from headrace.matching.extraction.runs import Run
    from headrace.matching.index.level import Level
    from headrace.matching.index.state import Index, View
    from headrace.matching.reports.overruns import Overruns
    from headrace.matching.reports.statistics import Accounts
    from headrace.matching.residual import Settled
    from headrace.matching.settings import CelSettings

    Numbers = npt.NDArray[Any]

_MOST_TOLD = 1000


@dataclass(frozen=True, slots=True)
class Search:
    """Searches, and tells the statistics of the matcher what it took. Any number of threads may search."""

    accounts: Accounts
    watch: BloomWatch
    overruns: Overruns
    cel: CelSettings

    def found(self, index: Index, view: View, run: Run) -> Numbers:
        """Return the pairs of row and member that match, ordered by row."""
        pairs = [*self._in_levels(index, view, run), *self._in_delta(index, view, run)]
        if not pairs:
            return NOBODY
        # One walk goes from row to row.
        joined = pairs[0] if len(pairs) == 1 else np.sort(np.concatenate(pairs))
        seen = index.members.seeing(joined, run.positions, view.known)
        return seen if run.is_all else pairs_of(run.rows[rows_of(seen)], members_of(seen))

    def _in_levels(self, index: Index, view: View, run: Run) -> list[Numbers]:
        plan = index.plan(run.channel, view.layers)
        if not plan.steps:
            return []
        extract = run.extract(plan.fields)
        is_long = plan.longest_cheap < UNLIMITED and extract.longest > plan.longest_cheap
        pairs = []
        for level, group, columns in plan.steps:
            began = time.perf_counter()
            found = level.walk(extract, group, columns)
            self.accounts.walked(found.counts, time.perf_counter() - began)
            self._watch_bloom(index, level, group, found.counts)
            pairs.append(found.matches)
            told = NOBODY
            if len(found.candidates):
                settled, told = self._settled(index, view, run, level, found.candidates)
                pairs[-1] = np.union1d(found.matches, settled)
            if is_long:
                kept = self._kept_by_length(level, extract, group, columns)
                self._tell_of(index, view, run, np.setdiff1d(kept, np.concatenate((pairs[-1], told))))
        return pairs

    def _kept_by_length(self, level: Level, extract: Extract, group: int, columns: Numbers) -> Numbers:
        """Return pairs of row and member who match if checks hold for which a value is too long."""
        rows = level.rows_too_dear(extract, group, columns)
        if not len(rows):
            return NOBODY
        found = level.walk(extract.only(rows), group, columns, leniently=True)
        forms = level.forms_of(members_of(found.candidates))
        undecided = np.repeat(rows_of(found.candidates), level.sizes_of(forms))
        pairs = np.concatenate((found.matches, pairs_of(undecided, level.members_of(forms))))
        return pairs_of(rows[rows_of(pairs)], members_of(pairs))

    def _tell_of(self, index: Index, view: View, run: Run, pairs: Numbers) -> None:
        """Note whose filter costs too much on a row, as the reference says; of very many pairs a sample is asked."""
        members = index.members
        pairs = members.seeing(pairs, run.positions, view.known)
        if len(pairs) > _MOST_TOLD:
            self.overruns.dropped += len(pairs) - _MOST_TOLD
            pairs = np.sort(np.random.default_rng().choice(pairs, _MOST_TOLD, replace=False))
        asked, which = np.unique(rows_of(pairs), return_inverse=True)
        variables = run.variables(asked)
        for row, member in zip(which.tolist(), members_of(pairs).tolist(), strict=True):
            overruns: list[str] = []
            truth = judged(narrowed(*members.entry(member)), variables[row], overruns)
            if truth is UNKNOWN and overruns:
                self.overruns.note([members.ids[member]], overruns[0], int(run.positions[asked[row]]))

    def _watch_bloom(self, index: Index, level: Level, group: int, counts: Numbers) -> None:
        removed = index.members.removed / len(index.members)
        if self.watch.note(level.legend.channels[group], counts, removed):
            index.renew(level, self.watch.rebuilt)

    def _settled(
        self, index: Index, view: View, run: Run, level: Level, candidates: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the matches among candidates, as pairs of row and member, each once; and the overruns."""
        rows, alternatives = rows_of(candidates), members_of(candidates)
        timeout = self.cel.evaluation_timeout
        settled = settle(run.variables, rows, level.rests_of(alternatives), level.rests, timeout)
        self._account(settled)
        told = [NOBODY]
        for slot, reason in settled.overruns.items():
            members = level.members_of(level.forms_of(alternatives[slot : slot + 1]))
            self._note_overrun(index, view, run, members, int(rows[slot]), reason)
            told.append(pairs_of(int(rows[slot]), members))
        holds = settled.holds
        found = np.unique(pairs_of(rows[holds], level.forms_of(alternatives[holds])))
        forms = members_of(found)
        matches = pairs_of(np.repeat(rows_of(found), level.sizes_of(forms)), level.members_of(forms))
        return matches, np.concatenate(told)

    def _in_delta(self, index: Index, view: View, run: Run) -> list[Numbers]:
        """Return the matches of the members that no level has, as pairs of row and member."""
        delta = view.delta
        if view.known == delta.first:
            return []
        variables = run.variables(np.arange(len(run.rows)))
        asked = [
            (row, form)
            for row, each in enumerate(variables)
            for form in set(delta.candidates(index.catalogue, run.channel, each))
        ]
        if not asked:
            return []
        rows, forms = np.array(asked, np.int64).T
        distinct, numbers = np.unique(forms, return_inverse=True)
        filed = [np.array(delta.members[form], np.int64) for form in distinct.tolist()]
        members = [each[each < view.known] for each in filed]
        expressions = [narrowed(*index.members.entry(int(each[0]))) for each in filed]
        timeout = self.cel.evaluation_timeout
        settled = settle(lambda rows: [variables[row] for row in rows], rows, numbers, expressions, timeout)
        self._account(settled, candidates=len(asked))
        for slot, reason in settled.overruns.items():
            self._note_overrun(index, view, run, members[numbers[slot]], int(rows[slot]), reason)
        matches = zip(rows[settled.holds].tolist(), numbers[settled.holds].tolist(), strict=True)
        return [pairs_of(row, members[number]) for row, number in matches]

    def _account(self, settled: Settled, candidates: int = 0) -> None:
        self.accounts.evaluated(
            settled.evaluations, settled.errors, settled.slow, settled.seconds, candidates
        )

    def _note_overrun(
        self, index: Index, view: View, run: Run, members: Numbers, row: int, reason: str
    ) -> None:
        """Note an overrun on a row of those members who see it."""
        seen = members_of(index.members.seeing(pairs_of(row, members), run.positions, view.known))
        position = int(run.positions[row])
        self.overruns.note([index.members.ids[each] for each in seen.tolist()], reason, position)
