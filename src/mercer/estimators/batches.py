"""Rows that come and go: moments add and subtract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.bases import Landmarks, as_basis, as_generator
from mercer.contracts import RowSource
from mercer.estimators.progress import progress_bar
from mercer.estimators.sharding import ShardedFits
from mercer.estimators.targets import RegressionTargets
from mercer.fit import refit
from mercer.kernels import Precomputed, as_kernel
from mercer.moments import Moments
from mercer.passes import accumulate
from mercer.result import Fit
from mercer.selection import make_plan
from mercer.solvers import (
    IterativeSolver,
    PreconditionedCG,
    as_solver,
)
from mercer.sources import ArraySource


class Batches(ShardedFits):
    """Adding rows to a fitted model, and taking them out."""

    kernel: Any
    _settings: Callable[[], dict[str, Any]]
    _fitted_to: str | None

    def _can_add(self) -> bool:
        """Whether the functions can stay while rows come and go."""
        if isinstance(as_solver(self.solver), PreconditionedCG):
            raise AttributeError(
                "partial_fit and forget need sums over rows, which solver='pcg' never forms: use "
                "solver='ridge'"
            )
        basis = as_basis(self.basis) if self.basis != "auto" else None
        if (basis is not None and basis.dual) or isinstance(as_kernel(self.kernel), Precomputed):
            raise AttributeError(
                "partial_fit and forget need functions that stay as rows come and go; the full "
                "kernel has one a row: use basis='landmarks' or basis='random_features'"
            )
        return True

    def _fit_source(self, source: RowSource, settings: dict[str, Any], fixed_basis: bool) -> Self:
        raise TypeError(f"{type(self).__name__} does not define _fit_source()")

    @available_if(_can_add)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model: moments add, so this equals one fit on all rows together.

        The first call chooses the basis from its rows (give a large first batch, or landmarks); it
        then stays. A model that was fitted by :meth:`fit` goes on likewise.
        """
        settings = self._settings()
        first = not hasattr(self, "fit_")
        with self._all_or_nothing():
            source = self._source(X, y, sample_weight, reset=first)
            if first:
                self._targets = self._make_targets(source)
                return self._fit_source(source, settings, fixed_basis=True)
            return self._combine(source, settings, sign=1)

    @available_if(_can_add)
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out of the model: moments subtract, as if it had never seen them.

        The rows must be ones that were fitted, with the same targets and weights. The basis stays;
        landmarks that were chosen among these rows remain landmarks.
        """
        check_is_fitted(self, "fit_")
        settings = self._settings()
        with self._all_or_nothing():
            source = self._source(X, y, sample_weight, reset=False)
            return self._combine(source, settings, sign=-1)

    def _combine(self, source: RowSource, settings: dict[str, Any], sign: int) -> Self:
        """Add or subtract the moments of a source and solve again."""
        self._check_sums()
        previous = self.fit_ if self.fit_.folds is not None else self._as_moments(settings)
        assert previous.folds is not None
        pieces, held_out = self._pieces(settings)
        chooser, instead = self._chooser(settings)
        if pieces > 1 and (pieces, held_out) != (len(previous.folds), previous.plan.held_out):
            kept = len(previous.folds)
            others = f"{kept}" if kept != pieces else f"{kept} of another size"
            raise ValueError(
                f"{chooser} needs sums kept in {pieces} pieces from the first rows on, and this "
                f"model keeps {others}: fit it again, or use {instead}"
            )
        if sign < 0 and len(previous.folds) > 1:
            raise ValueError(
                f"forget cannot tell which fold a row was dealt to: use {instead} from the first "
                f"rows on"
            )
        rng = as_generator(self.random_state)
        with progress_bar(self.verbose) as progress:
            batch = accumulate(
                source,
                self._targets,
                previous.basis,
                previous.plan,
                rng,
                progress,
            )
        folds = [
            old + new if sign > 0 else old - new
            for old, new in zip(previous.folds, batch, strict=True)
        ]
        if sum(fold.rows for fold in folds) <= 0:
            raise ValueError(
                f"forget would leave no rows: the model holds "
                f"{sum(fold.rows for fold in previous.folds)}, {source.n_rows} were given"
            )
        settings = {k: v for k, v in settings.items() if k != "kernel"}
        with progress_bar(self.verbose) as progress:
            found = refit(
                previous,
                folds,
                units=self._targets.scale**2,
                intercept=bool(self.fit_intercept),
                rng=rng,
                progress=progress,
                **settings,
            )
        self._fitted_to = None
        return self._finish(found)

    @staticmethod
    def _chooser(settings: dict[str, Any]) -> tuple[str, str]:
        """Return what looks at other rows to choose, and what to use that does not."""
        if isinstance(settings["solver"], IterativeSolver):
            return f"the rule '{settings['solver'].rule().label}'", "stop=StopAfter(steps)"
        return str(settings["criterion"].label), "selection='gcv' or a number for alpha"

    def _as_moments(self, settings: dict[str, Any]) -> Fit:
        """Return the fit of an automatic full kernel as one by moments: a function at every row."""
        exact = self.fit_
        assert exact.dual_rows is not None
        Y, weight = exact.dual_rows
        source = ArraySource(exact.basis.landmarks_, Y, weight)
        plan = make_plan(
            source,
            exact.basis.kernel_,
            Landmarks(sampling=exact.basis.landmarks_),
            dtype=self.dtype,
            memory_limit=self.memory_limit,
            outputs=Y.shape[1],
            folds=self._pieces(settings)[0],
            held_out=self._pieces(settings)[1],
        )
        rng = as_generator(self.random_state)
        basis = plan.basis.fit_source(
            source, exact.basis.kernel_, rng, plan.precision, plan.may_widen
        )
        encoded = RegressionTargets(np.zeros(Y.shape[1]), np.ones(Y.shape[1]), True)
        folds = accumulate(source, encoded, basis, plan, rng)
        return replace(exact, basis=basis, plan=plan, folds=folds)

    def _check_sums(self) -> None:
        """Refuse what needs sums over rows, where a model was saved without them."""
        if self.fit_.folds is None and self.fit_.dual_rows is None:
            if self.fit_.combination:
                raise AttributeError(
                    f"this model is an {self.fit_.combination}, and their sums over rows stayed "
                    f"with the shards: fit it with combine='sum'"
                    if self.fit_.combination.startswith("average")
                    else f"this model was found by {self.fit_.combination}, and sums over rows "
                    f"stayed with the shards: fit it with combine='sum'"
                )
            if self.fit_.plan.sample:
                raise AttributeError(
                    "this model was solved by products and has no sums over rows, which this "
                    "needs: fit it with solver='ridge'"
                )
            raise AttributeError(
                "this model was loaded from a file without its sums over rows, which this needs: "
                "save it with mercer.save(model, path, moments=True), or fit it again"
            )

    @property
    def moments_(self) -> Moments:
        """Moments of all rows seen: of graded functions, and of targets shifted and scaled.

        Not for the full kernel.
        """
        check_is_fitted(self, "fit_")
        self._check_sums()
        if self.fit_.folds is None:
            raise AttributeError("the full kernel is fitted from the kernel matrix, not moments")
        total = self.fit_.folds[0]
        for fold in self.fit_.folds[1:]:
            total = total + fold
        return total
