"""A sheet that grows by rounds while it is labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.contracts import Array
from mercer.estimators import ImportanceLabeller
from mercer.labelling.label_pool import LabelPool
from mercer.labelling.label_rounds import draw_again, drawn_sheet
from mercer.labelling.sheet import Sheet
from mercer.labelling.spreadsheet_values import as_number
from mercer.validation import check_count


class GrowingSheet:
    """The rounds of draws from a pool, up to a budget, and the sheet that they make up.

    The draws are those of one round of the whole budget: alpha of the scores is chosen for it, and
    the random numbers go on. But a sheet that is left before its end has only the rounds that were
    needed. Draws by variance have no weights, and are made at once.

    Parameters
    ----------
    labeller : ImportanceLabeller
        Not fitted, and not changed.
    pool : LabelPool
        The pool.
    budget, step : int
        The number of draws in all, and in a round.
    settings : dict or None
        As in :func:`write_sheet`; alpha in it is replaced by the number that was used.
    before : Sheet or None
        A sheet to go on with.

    Attributes
    ----------
    sheet : Sheet
        The rows so far, with the labels of ``before``.
    expected_rows : int
        About how many different rows the whole budget is.
    """

    def __init__(
        self,
        labeller: ImportanceLabeller,
        pool: LabelPool,
        budget: int,
        step: int,
        settings: Mapping[str, Any] | None = None,
        before: Sheet | None = None,
    ) -> None:
        self.budget, self.pool = check_count(budget, "budget"), pool
        weighted = labeller.sampling == "leverage"
        self._step = check_count(step, "the round") if weighted else self.budget
        self._settings = None if settings is None else dict(settings)
        self._labeller = clone(labeller)
        if before is None:
            self._begin()
        else:
            self._go_on(before)
        self.expected_rows = self._expected()

    def _begin(self) -> None:
        """Draw the first round, by scores for the whole budget."""
        labeller, first = self._labeller, min(self._step, self.budget)
        labeller.set_params(budget=self.budget).fit(self.pool.source)
        if first < self.budget:
            if labeller.alpha == "auto" and self._settings is not None:
                self._settings["alpha"] = repr(float(labeller.alpha_))
            labeller.set_params(alpha=labeller.alpha_, budget=first).fit(self.pool.source)
        self.sheet = drawn_sheet(labeller, self.pool, None, self._settings)

    def _go_on(self, before: Sheet) -> None:
        """Draw the rounds of a sheet again; columns that a person has added are kept."""
        alpha = as_number(before.drawn.settings.get("alpha"))
        if self._labeller.alpha == "auto" and np.isfinite(alpha):
            self._labeller.set_params(alpha=alpha)
        draw_again(self._labeller, self.pool, before)
        self._settings = before.drawn.settings
        found = drawn_sheet(self._labeller, self.pool, before, self._settings)
        self.sheet = replace(found, shown={**before.shown, **found.shown})

    @property
    def complete(self) -> bool:
        """Whether the budget is used up."""
        return sum(self.sheet.drawn.rounds) >= self.budget

    def grow(self) -> list[str]:
        """Draw another round; return the ids of new rows, which may be none."""
        known = set(self.sheet.drawn.ids)
        number = min(self._step, self.budget - sum(self.sheet.drawn.rounds))
        before = self.sheet
        self._labeller.select(number)
        found = drawn_sheet(self._labeller, self.pool, before, self._settings)
        at = {id_: place for place, id_ in enumerate(before.drawn.ids)}
        places = [at.get(id_) for id_ in found.drawn.ids]
        for name, values in before.shown.items():
            if name not in found.shown:  # a person has added it
                found.shown[name] = [None if p is None else values[p] for p in places]
        self.sheet = found
        self.expected_rows = self._expected()
        return self.order([id_ for id_ in found.drawn.ids if id_ not in known])

    def order(self, ids: list[str]) -> list[str]:
        """Return rows in the order to label them: any part of them is to be as good as the whole.

        That is at random, or the largest variance first.
        """
        drawn, variance = self.sheet.drawn, self._labeller.variance_
        if self._labeller.sampling == "variance" and variance is not None:
            by_id = dict(zip(drawn.ids, variance.tolist(), strict=True))
            return sorted(ids, key=lambda id_: -by_id[id_])
        rng = np.random.default_rng([drawn.seed or 0, len(drawn.rounds)])
        return [ids[place] for place in rng.permutation(len(ids))]

    @property
    def most_weight(self) -> float | None:
        """The largest weight of a draw, or None for draws by variance."""
        probability = self._labeller.probability_
        if probability is None:
            return None
        return float(1 / (len(probability) * probability.min()))

    def _expected(self) -> int:
        probability: Array | None = self._labeller.probability_
        if self.complete or probability is None:
            return max(len(self.sheet.labels), self.budget if probability is None else 0)
        drawn = np.zeros(len(probability), dtype=bool)
        drawn[self.sheet.drawn.rows] = True
        left = self.budget - sum(self.sheet.drawn.rounds)
        missed = np.exp(left * np.log1p(-np.minimum(probability[~drawn], 1 - 1e-12)))
        return len(self.sheet.labels) + round(float(np.sum(1 - missed)))
