"""How estimators fit over shards: what they accept, cut and hand on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.bases import as_basis, as_generator
from mercer.combine import (
    Average,
    Combination,
    Communication,
    ExactSum,
    NewtonRounds,
    Rounds,
    as_combination,
)
from mercer.contracts import Engine, RowSource
from mercer.engines import as_engine
from mercer.engines.journal import Journal
from mercer.estimators.inputs import RowInputs
from mercer.estimators.progress import progress_bar
from mercer.kernels import Precomputed
from mercer.result import Fit, Targets
from mercer.sharded import Settings, fit_over_shards
from mercer.solvers import IterativeSolver, PreconditionedCG, Ridge
from mercer.sources import ArraySource, open_rows
from mercer.sources.base import FileSource
from mercer.sources.dask import is_partitioned, partitions
from mercer.sources.shards import Shard, ShardedSource, cut, cut_by_label, describe
from mercer.storage import fingerprint, input_identity
from mercer.validation import check_count, check_finite, check_flag

#: Rows of y that are looked at together.
ROWS = 100_000


class ShardedFits(RowInputs):
    """Fitting over shards; see :class:`mercer.KernelRegressor` for the parameters."""

    shards: int | None
    shuffle: bool
    combine: Any
    rounds: int
    engine: Any
    checkpoint: Any
    basis: Any
    solver: Any
    dtype: str
    memory_limit: Any
    fit_intercept: bool
    random_state: Any
    verbose: int
    _targets: Any
    _ranks = False  # whether the loss is one of pairs
    fit_: Fit

    # -- what the regressor and the classifier say

    def _make_targets(self, source: RowSource) -> Targets:
        raise TypeError(f"{type(self).__name__} does not define _make_targets()")

    def _target_summary(self) -> Any:
        """Return the task that sums up y in a shard."""
        raise TypeError(f"{type(self).__name__} does not define _target_summary()")

    def _pooled_targets(self, summaries: Sequence[Any]) -> Targets:
        """Return the targets that the summaries of all shards describe."""
        raise TypeError(f"{type(self).__name__} does not define _pooled_targets()")

    def _check_shards(self, summaries: Sequence[Any], combination: Combination) -> None:
        """Refuse shards that a combination cannot work with."""

    def _finish(self, found: Fit) -> Self:
        raise TypeError(f"{type(self).__name__} does not define _finish()")

    @property
    def communication_(self) -> Communication:
        """What shards have sent, and been sent."""
        check_is_fitted(self, "fit_")
        told: Communication | None = self.fit_.communication
        if told is None:
            raise AttributeError("this model was not fitted over shards, or loaded from a file")
        return told

    # -- checks

    def _sharding(self) -> Combination:
        """Check the parameters that are about shards; return the combination."""
        if self.shards is not None:
            check_count(self.shards, "shards")
        check_flag(self.shuffle, "shuffle")
        check_count(self.rounds, "rounds")
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise TypeError(
                f"checkpoint must be the path of a folder, or None, got "
                f"{type(self.checkpoint).__name__}"
            )
        return as_combination(self.combine)

    def _is_sharded(self, X: Any, shard_labels: Any) -> bool:
        """Whether a fit is one over shards."""
        asked = self.shards is not None or self.engine is not None or self.checkpoint is not None
        return asked or shard_labels is not None or is_partitioned(X) or _is_list_of_files(X)

    def _check_sharded(self, settings: dict[str, Any], combination: Combination) -> None:
        """Refuse what cannot be done over shards, before any work."""
        named = not (isinstance(self.basis, str) and self.basis == "auto")
        local = named and as_basis(self.basis).local
        solver = settings["solver"]
        if isinstance(settings["kernel"], Precomputed):
            raise ValueError("a precomputed kernel has no shards: give rows, and a kernel")
        exchange = local and isinstance(combination, NewtonRounds) and as_basis(self.basis).dual
        if local and not (isinstance(combination, Average) or exchange):
            raise ValueError(
                f"combine={self.combine!r} needs functions that all shards share, and "
                f"{type(as_basis(self.basis)).__name__} is made of the rows of a shard: use "
                f"combine='average', or basis='landmarks' or 'random_features'"
            )
        if exchange and self.fit_intercept and not self._ranks:
            raise ValueError(
                "rounds with the full kernel fit no constant: use fit_intercept=False, or "
                "basis='landmarks' or 'random_features'"
            )
        if exchange and settings["alpha"] == 0:
            raise ValueError("rounds with the full kernel need an alpha above 0")
        if isinstance(combination, Rounds) and not isinstance(solver, Ridge):
            raise ValueError(
                "rounds solve the ridge problem of all rows: use solver='ridge' with "
                f"combine={self.combine!r}, or combine='average' or 'sum' for other solvers"
            )
        if isinstance(combination, ExactSum) and isinstance(solver, PreconditionedCG):
            raise ValueError(
                "combine='sum' adds moments, which solver='pcg' never forms: use solver='ridge', "
                "or combine='average'"
            )
        if settings["alpha"] is None and settings["criterion"].second_pass:
            raise ValueError(
                f"{settings['criterion'].label} reads rows a second time, which shards do not do: "
                f"use selection='gcv' or 'kfold', or a number for alpha"
            )
        if self.warm_start:
            raise ValueError("warm_start goes on with rows in one place: use it without shards")

    # -- fitting

    def _fit_over_shards(
        self,
        X: Any,
        y: Any,
        weight: Any,
        shard_labels: Any,
        settings: dict[str, Any],
        query: Any = None,
    ) -> Self:
        combination = self._sharding()
        self._check_sharded(settings, combination)
        seed = int(as_generator(self.random_state).integers(2**62))
        with self._engine(X) as engine, progress_bar(self.verbose) as progress:
            if progress is not None:
                engine.progress = lambda label, done, total: progress(label, done, total, "shards")
            journal = None
            if self.checkpoint is not None:
                rows = (X, y, weight, shard_labels, query)
                journal = Journal(engine, self.checkpoint, seed, self._identity(*rows))
                engine, seed = journal, journal.seed
            source = self._sharded(X, y, weight, shard_labels, combination, engine, seed, query)
            pieces, held_out = self._pieces(settings)
            memory_limit = self.memory_limit
            if isinstance(memory_limit, str) and memory_limit == "auto":
                memory_limit = getattr(engine, "task_memory", None) or "auto"
            request = Settings(
                targets=self._targets,
                kernel=settings["kernel"],
                basis=self.basis,
                solver=settings["solver"],
                combination=combination,
                rounds=self.rounds,
                alpha=settings["alpha"],
                alphas=settings["alphas"],
                criterion=settings["criterion"],
                intercept=bool(self.fit_intercept),
                dtype=self.dtype,
                memory_limit=memory_limit,
                pieces=pieces,
                held_out=held_out,
                seed=seed,
                basis_seed=self._basis_seed(),
            )
            found = fit_over_shards(source, request, progress)
        return self._finish(found)

    def _basis_seed(self) -> int | None:
        """Return the seed of the functions, where the user gave one as a number."""
        own = getattr(self.basis, "random_state", None)
        seed = self.random_state if own is None else own
        return int(seed) if isinstance(seed, Integral) else None

    @staticmethod
    def _pieces(settings: dict[str, Any]) -> tuple[int, float | None]:
        """Return in how many pieces rows are kept, and the share of the last of two, if uneven."""
        if isinstance(settings["solver"], IterativeSolver):
            rule = settings["solver"].rule()
            return rule.folds, rule.held_out
        return (settings["criterion"].folds if settings["alpha"] is None else 1), None

    def _identity(self, *rows: Any) -> str:
        """Return what must be equal for a fit to go on from a checkpoint: parameters and rows."""
        params = self.get_params(deep=False)
        apart = ("engine", "checkpoint", "verbose", "random_state")
        kept = {k: v for k, v in params.items() if k not in apart}
        kept["seed"] = self._basis_seed()
        return fingerprint((type(self).__name__, kept, [input_identity(part) for part in rows]))

    @contextmanager
    def _engine(self, X: Any) -> Iterator[Engine]:
        """Yield the engine; close the connection if it was opened for this fit."""
        asked = self.engine
        if asked is None and is_partitioned(X):
            asked = _active_client()
        engine = as_engine(asked)
        link = getattr(engine, "dashboard", None)
        if self.verbose and link:
            print(f"mercer: dashboard at {link}", file=sys.stderr)
        try:
            yield engine
        finally:
            engine.progress = None
            if engine is not asked and hasattr(engine, "close"):
                engine.close()

    def _sharded(
        self,
        X: Any,
        y: Any,
        weight: Any,
        labels: Any,
        combination: Combination,
        engine: Engine,
        seed: int,
        query: Any,
    ) -> ShardedSource:
        """Cut the rows, look at each shard, and take the targets from all of them."""
        shards, source = self._cut(X, y, weight, labels, combination, engine, seed, query)
        placed = engine.place(shards)
        facts = engine.map(describe, placed, self._target_summary(), label="looking")
        found = ShardedSource(engine, placed, facts)
        if not found.has_target:
            raise ValueError(
                "a fit needs targets: fit(path, 'name of the target column'), or y beside X"
            )
        self._check_features(found, reset=True)
        if source is not None:  # arrays: what is wrong is named by its own row number
            self._targets = self._make_targets(source)
            start = 0
            for block in source.blocks(ROWS):
                check_finite(block.X, start=start, names=source.feature_names)
                self._targets.encode(block.y, start)
                start += block.n_rows
        else:
            self._targets = self._pooled_targets([fact.targets for fact in found.facts])
        self._check_shards([fact.targets for fact in found.facts], combination)
        return found

    def _cut(
        self,
        X: Any,
        y: Any,
        weight: Any,
        labels: Any,
        combination: Combination,
        engine: Engine,
        seed: int,
        query: Any,
    ) -> tuple[Sequence[Any], ArraySource | None]:
        """Return shards, and the source they were cut from if it is an array."""
        if is_partitioned(X):
            self._refuse("partitions are the shards of a Dask collection", self.shards, labels)
            return partitions(X, y, weight, query), None
        if _is_list_of_files(X):
            self._refuse("files are the shards of a list of files", self.shards, labels)
            for name, value in (("y", y), ("sample_weight", weight), ("qid", query)):
                if value is not None and not isinstance(value, str):
                    raise TypeError(
                        f"{name} must be the name of a column where X is a list of files, got "
                        f"{type(value).__name__}"
                    )
            X = [Path(path).absolute() for path in X]  # workers may run in another folder
            opened = [open_rows(path, target=y, weight=weight, query=query) for path in X]
            return [
                Shard(i, f"shard {i} ({p})", s)
                for i, (p, s) in enumerate(zip(X, opened, strict=True))
            ], None
        if isinstance(X, (str, Path)):
            X = Path(X).absolute()
        source = self._source(X, y, weight, reset=True, query=query)
        array = source if isinstance(source, ArraySource) else None
        if labels is not None:
            if array is None:
                raise ValueError("shard_labels are for arrays: give files as a list instead")
            self._refuse("shard_labels tell the shards", self.shards, None)
            labels = np.asarray(labels)
            if weight is not None and len(labels) == len(weight):
                labels = labels[np.asarray(weight) > 0]  # like the rows themselves
            return cut_by_label(array, labels), array
        shards = self.shards
        if shards is None and isinstance(source, FileSource):
            shards = max(1, len(np.unique(source._boundaries())) - 1)
        if shards is None and not isinstance(combination, ExactSum):
            raise ValueError(
                f"combine={self.combine!r} depends on the number of shards: give shards="
            )
        rng = np.random.default_rng([seed, 3]) if self.shuffle else None
        return cut(source, shards or 2 * engine.width, rng), array

    @staticmethod
    def _refuse(why: str, shards: Any, labels: Any) -> None:
        if shards is not None or labels is not None:
            raise ValueError(f"{why}: leave out shards= and shard_labels=")

    # -- engines are connections: neither copied nor stored

    def __sklearn_clone__(self) -> Any:
        """Copy everything but the engine, which copies share."""
        engine = self.engine
        if engine is None:
            return BaseEstimator.__sklearn_clone__(self)
        plain = self.get_params(deep=False)
        bare = type(self)(**{**plain, "engine": None})
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(bare, name, getattr(self, name))
        found = BaseEstimator.__sklearn_clone__(bare)
        found.engine = engine
        return found

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "engine" in state:
            state["engine"] = stored_engine(state["engine"])
        return state


def stored_engine(engine: Any) -> str | None:
    """Return an engine as it can be stored: the address of its scheduler, or None.

    >>> stored_engine("tcp://10.0.0.1:8786")
    'tcp://10.0.0.1:8786'
    """
    if engine is None or isinstance(engine, str):
        return engine
    client = getattr(engine, "client", engine)
    address = getattr(getattr(client, "scheduler", None), "address", None)
    return None if address is None else str(address)


def _is_list_of_files(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(p, (str, Path)) for p in X)


def _active_client() -> Any:
    """Return the client that is active in this process, as Dask itself would use; None without."""
    distributed = import_module("distributed")
    try:
        return distributed.get_client()
    except ValueError:
        return None
