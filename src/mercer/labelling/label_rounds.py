"""Write the rows drawn by a labeller to a sheet, round by round, also while it is labelled."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.contracts import Array
from mercer.labelling.label_pool import DRAWS, LABEL, WEIGHT, LabelPool, has_names
from mercer.labelling.label_studio import label_studio_tasks
from mercer.labelling.label_values import as_number, some
from mercer.labelling.labeller import ImportanceLabeller
from mercer.labelling.sheet import Draws, Sheet, sheet_files
from mercer.storage import write_json, write_together
from mercer.validation import check_count


def write_sheet(
    labeller: ImportanceLabeller,
    pool: object,
    path: str | os.PathLike[str],
    *,
    before: Sheet | None = None,
    label_studio: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Sheet:
    """Write the rows drawn by a labeller as a sheet to fill in.

    Parameters
    ----------
    labeller : ImportanceLabeller
        A fitted labeller; the sheet contains all of its rounds.
    pool : LabelPool, or what one is made from
        The pool that it was fitted to.
    path : str or path
        A new ``.csv`` or ``.parquet`` file; the record is written next to it.
    before : Sheet or None
        The sheet of earlier rounds, whose labels are kept.
    label_studio : str, path or None
        A ``.json`` file for Label Studio tasks, one per row that is not in ``before``.
    settings : dict or None
        The settings to store in the record; None means the parameters of the labeller.
    overwrite : bool
        Whether files that exist are replaced, with the labels in them.

    Returns
    -------
    Sheet
    """
    files = sheet_files(path, overwrite=overwrite)
    tasks = None if label_studio is None else Path(label_studio).expanduser()
    if tasks is not None and tasks.absolute() in [file.absolute() for file in files]:
        raise ValueError(
            f"tasks must have a separate file, got {tasks}, which belongs to the sheet: name "
            f"another"
        )
    if not isinstance(pool, LabelPool):
        pool = LabelPool(pool, _columns(labeller, pool))
    sheet = drawn_sheet(labeller, pool, before, settings)
    writers = sheet.writers(*files)
    if tasks is not None:
        content = label_studio_tasks(sheet, () if before is None else before.drawn.ids)
        writers[tasks] = lambda partial: write_json(content, partial)
    write_together(writers)
    return sheet


def draw_again(labeller: ImportanceLabeller, pool: LabelPool, sheet: Sheet) -> ImportanceLabeller:
    """Fit a labeller and draw the rounds of a sheet again, so that another round can follow.

    The labeller must have the settings and the seed of the sheet.
    """
    sheet.drawn.check_pool(pool)
    first, *others = sheet.drawn.rounds
    labeller.set_params(budget=first).fit(pool.source)
    for number in others:
        labeller.select(number)
    same = np.array_equal(labeller.indices_, sheet.drawn.rows)
    if not (same and np.array_equal(labeller.count_, sheet.drawn.counts)):
        raise ValueError(
            "the rounds of the sheet must be reproduced before another one is drawn, but "
            "other rows were drawn: the settings, seed, memory limit or mercer version differ; "
            "use those of the sheet, or start a new one"
        )
    return labeller


def drawn_sheet(
    labeller: ImportanceLabeller,
    pool: LabelPool,
    before: Sheet | None,
    settings: Mapping[str, Any] | None,
) -> Sheet:
    """Return the rows drawn by a labeller, with the labels of earlier rounds."""
    if labeller.n_pool_ != pool.source.n_rows:
        raise ValueError(
            f"the pool must be the one of the labeller, with {labeller.n_pool_} rows, got "
            f"{pool.source.n_rows}"
        )
    rows = labeller.indices_
    ids = [str(row) for row in rows] if pool.ids is None else pool.ids[rows].tolist()
    rounds = [int(labeller.budget), labeller.n_draws_ - int(labeller.budget)]
    if before is not None:
        before.drawn.check_pool(pool)
        missing = sorted(set(before.drawn.ids).difference(ids))
        if missing:
            raise ValueError(
                f"the earlier rounds must be of this labeller, but it has not drawn the ids "
                f"{some(missing)}: see draw_again"
            )
        rounds = [*before.drawn.rounds, labeller.n_draws_ - sum(before.drawn.rounds)]
    if settings is None:
        settings = {
            name: value if isinstance(value, (int, float, str, type(None))) else repr(value)
            for name, value in labeller.get_params(deep=False).items()
        }
    seed, names = labeller.random_state, pool.source.feature_names
    drawn = Draws(
        pool=pool.fingerprint() if before is None else before.drawn.pool,
        columns=None if names is None else list(names),
        id_name=pool.id_name,
        ids=ids,
        rows=rows.tolist(),
        counts=labeller.count_.tolist(),
        weights=labeller.sample_weight_.tolist(),
        rounds=[number for number in rounds if number],
        seed=int(seed) if isinstance(seed, (int, np.integer)) else None,
        settings=dict(settings),
    )
    known = {} if before is None else dict(zip(before.drawn.ids, before.labels, strict=True))
    return Sheet(drawn, [known.get(id_) for id_ in ids], _shown(pool, rows))


def _shown(pool: LabelPool, rows: Array) -> dict[str, list[Any]]:
    """Return the columns to show; those with the name of a sheet column are renamed."""
    found: dict[str, list[Any]] = {}
    taken = {pool.id_name, DRAWS, WEIGHT, LABEL}
    values_of = pool.look(rows)
    for name, values in values_of.items():
        shown = name
        while shown in taken or (shown != name and shown in values_of):
            shown = f"pool_{shown}"
        found[shown] = values
    return found


def _columns(labeller: ImportanceLabeller, pool: object) -> list[str] | None:
    """Return the features of a labeller, since the pool may have additional columns."""
    names = getattr(labeller, "feature_names_in_", None)
    if names is None or not has_names(pool):
        return None
    return [str(name) for name in names]


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
