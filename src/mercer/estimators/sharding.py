"""Open the rows of a fit: in one place, or in shards on an engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from mercer.bases import as_generator
from mercer.columns.looking import look_at
from mercer.combine import Combination, as_combination
from mercer.contracts import Array, Engine, Progress, Seeds, TargetKind, Targets
from mercer.engines import as_engine
from mercer.engines.journal import Journal
from mercer.estimators.asked import is_pairwise
from mercer.estimators.class_weighing import with_class_weight
from mercer.estimators.encoding import check_unlabelled, with_encoded_columns, with_labels_only
from mercer.estimators.inputs import Given, check_features, read_rows, takes_tables
from mercer.estimators.weighing import with_weight_type
from mercer.request import ByPurpose, OneStream
from mercer.rows import ArraySource, open_rows
from mercer.rows.dask_partitions import is_partitioned, partitions
from mercer.rows.file_source import FileSource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard, cut, cut_by_label
from mercer.rows.table import Table
from mercer.storage import fingerprint, input_identity
from mercer.validation import check_count, check_finite, check_flag

#: Rows of y read at a time.
ROWS = 100_000


@dataclass(frozen=True)
class OpenedRows:
    """The rows of a fit, with their targets and seeds."""

    rows: RowSet
    targets: Targets
    seeds: Seeds
    memory_limit: Any
    unlabelled: bool = False  # whether some rows are known to be unlabelled
    present: Array | None = None  # see RowInput
    alpha_ratio: float = 1.0  # see with_weight_type


def check_sharding(estimator: Any) -> Combination:
    """Validate the parameters for shards; return the combination."""
    if estimator.shards is not None:
        check_count(estimator.shards, "shards")
    check_flag(estimator.shuffle, "shuffle")
    check_count(estimator.rounds, "rounds")
    checkpoint = estimator.checkpoint
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(
            f"checkpoint must be the path of a folder, or None, got {type(checkpoint).__name__}"
        )
    return as_combination(estimator.combine)


def is_sharded(estimator: Any, given: Given) -> bool:
    """Return whether a fit is over shards."""
    asked = (estimator.shards, estimator.engine, estimator.checkpoint, given.shard_labels)
    parted = is_partitioned(given.X) or _is_list_of_files(given.X)
    return parted or (not given.in_one_place and any(value is not None for value in asked))


@contextmanager
def opened_rows(
    estimator: Any,
    kind: TargetKind,
    given: Given,
    *,
    targets: Targets | None = None,
    progress: Progress | None = None,
) -> Iterator[OpenedRows]:
    """Yield the rows of a fit, in one place or over shards; close the engine afterwards.

    ``targets`` are those of an existing model, when rows are added to it.
    """
    if not is_sharded(estimator, given):
        found = read_rows(estimator, kind, given, reset=targets is None)
        known = kind.of_source(found.source) if targets is None else targets
        seed = getattr(estimator.basis, "random_state", None)
        rng = as_generator(estimator.random_state if seed is None else seed)
        rows = RowSet.in_one_place(found.source, progress, needed_look(estimator))
        if estimator.unlabelled == "drop" and not given.expects_unlabelled:
            rows = with_labels_only(rows)
        elif estimator.unlabelled == "require" and targets is None:
            check_unlabelled(rows)
        rows = with_class_weight(estimator, rows, known)
        rows = with_encoded_columns(estimator, rows, known, first=targets is None)
        rows, ratio = with_weight_type(estimator, rows)
        yield OpenedRows(
            rows,
            known,
            OneStream(rng),
            estimator.memory_limit,
            found.unlabelled,
            found.present,
            ratio,
        )
        return
    if is_pairwise(estimator.kernel):
        raise ValueError("a precomputed kernel cannot be sharded: pass rows and another kernel")
    with _open_engine(estimator, given.X) as engine:
        if progress is not None:
            engine.progress = lambda label, done, total: progress(label, done, total, "shards")
        seed = int(as_generator(estimator.random_state).integers(2**62))
        if estimator.warm_start and estimator.random_state is None:
            seed = getattr(estimator, "_seed", None) or seed  # shards must be the same to go on
        if estimator.checkpoint is not None:
            goes_on = hasattr(estimator, "fit_") and (targets is not None or estimator.warm_start)
            model = estimator.coef_ if goes_on else None
            identity, folder = _identity(estimator, given, model), Path(estimator.checkpoint)
            if goes_on:  # from a model, which has left its own results in the folder
                kind_of_fit = "from" if targets is None else "rows"
                folder = folder / f"{kind_of_fit}-{identity[:16]}"
            journal = Journal(engine, folder, seed, identity)
            engine, seed = journal, journal.seed
        yield _over_shards(estimator, kind, given, engine, seed, targets)


def _over_shards(
    estimator: Any,
    kind: TargetKind,
    given: Given,
    engine: Engine,
    seed: int,
    targets: Targets | None,
) -> OpenedRows:
    """Split the rows, inspect each shard, and compute the targets from all shards."""
    combination, first = as_combination(estimator.combine), targets is None
    shards, array, unlabelled = _cut(estimator, kind, given, engine, seed, first)
    rows = RowSet.over_shards(engine, shards, kind.summarize, needed_look(estimator))
    if not rows.has_target:
        raise ValueError(
            "fit needs targets: use fit(path, 'name of the target column') or fit(X, y)"
        )
    check_features(estimator, rows, reset=first)
    summaries = [fact.targets for fact in rows.facts]
    if array is None:
        targets = targets or kind.pooled(summaries)
    else:  # errors use the row numbers of the shard
        targets = targets or kind.of_source(array)
        start = 0
        for block in array.blocks(ROWS):
            if not isinstance(block.X, Table):
                gaps = takes_tables(estimator) and estimator.missing == "fill"
                X = without_gaps(block.X) if gaps else block.X
                check_finite(X, start=start, names=array.feature_names)
            assert block.y is not None
            targets.encode(block.y, start)
            start += block.n_rows
    kind.check_shards(summaries, combination.keeps_queries_whole)
    memory_limit = estimator.memory_limit
    if isinstance(memory_limit, str) and memory_limit == "auto":
        memory_limit = getattr(engine, "task_memory", None) or "auto"
    seeds = ByPurpose(seed, _basis_seed(estimator))
    if estimator.unlabelled == "drop" and array is None:  # those of arrays are dropped already
        rows = with_labels_only(rows)
    elif estimator.unlabelled == "require" and first:
        check_unlabelled(rows)
    rows = with_class_weight(estimator, rows, targets)
    rows = with_encoded_columns(estimator, rows, targets, first=first)
    rows, ratio = with_weight_type(estimator, rows)
    return OpenedRows(rows, targets, seeds, memory_limit, unlabelled, alpha_ratio=ratio)


def _cut(
    estimator: Any, kind: TargetKind, given: Given, engine: Engine, seed: int, first: bool
) -> tuple[Sequence[Any], ArraySource | None, bool]:
    """Return shards, their source if it is an array, and whether labels are missing."""
    X, labels = given.X, given.shard_labels
    if is_partitioned(X):
        _refuse("the shards of a Dask collection are its partitions", estimator.shards, labels)
        raw = takes_tables(estimator)
        return partitions(X, given.y, given.weight, given.query, raw=raw), None, False
    if _is_list_of_files(X):
        _refuse("the shards of a list of files are the files", estimator.shards, labels)
        return _files(given, takes_tables(estimator)), None, False
    if isinstance(X, (str, Path)):
        given = Given(Path(X).absolute(), given.y, given.weight, given.query)
    found = read_rows(estimator, kind, given, reset=first)
    source = found.source
    array = source if isinstance(source, ArraySource) else None
    if labels is not None:
        if array is None:
            raise ValueError("shard_labels are for arrays: pass files as a list instead")
        _refuse("shard_labels already define the shards", estimator.shards, None)
        labels = np.asarray(labels)
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if found.present is not None and labels.shape == (rows,):
            labels = labels[found.present]  # like the rows themselves
        return cut_by_label(array, labels), array, found.unlabelled
    shards = estimator.shards
    if shards is None and isinstance(source, FileSource):
        shards = max(1, len(np.unique(source._boundaries())) - 1)
    if shards is None and as_combination(estimator.combine).depends_on_shards:
        raise ValueError(
            f"combine={estimator.combine!r} depends on the number of shards: set shards="
        )
    rng = np.random.default_rng([seed, 3]) if estimator.shuffle else None
    return cut(source, shards or 2 * engine.width, rng), array, found.unlabelled


def needed_look(estimator: Any) -> Any:
    """Return the first look at rows; None where they are taken as they are, without a pass."""
    return look_at if takes_tables(estimator) or estimator.unlabelled != "use" else None


def without_gaps(X: Any) -> Any:
    """Return rows in which gaps, which are filled later, are zeros."""
    return (
        X
        if hasattr(X, "tocsr") or not np.isnan(X).any()
        else np.nan_to_num(X, posinf=np.inf, neginf=-np.inf)
    )


def _files(given: Given, raw: bool) -> list[Shard]:
    """Return the files of a list as shards."""
    columns = {"y": given.y, "sample_weight": given.weight, "qid": given.query}
    for name, value in columns.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(
                f"{name} must be the name of a column if X is a list of files, got "
                f"{type(value).__name__}"
            )
    paths = [Path(path).absolute() for path in given.X]  # workers may run in another folder
    return [
        Shard(
            number,
            f"shard {number} ({path})",
            open_rows(path, target=given.y, weight=given.weight, query=given.query, raw=raw),
        )
        for number, path in enumerate(paths)
    ]


def _refuse(why: str, shards: Any, labels: Any) -> None:
    if shards is not None or labels is not None:
        raise ValueError(f"{why}: omit shards= and shard_labels=")


def _basis_seed(estimator: Any) -> int | None:
    """Return the seed of the functions, if the user gave an integer."""
    own = getattr(estimator.basis, "random_state", None)
    seed = estimator.random_state if own is None else own
    return int(seed) if isinstance(seed, Integral) else None


@contextmanager
def _open_engine(estimator: Any, X: Any) -> Iterator[Engine]:
    """Yield the engine; close the connection if it was opened for this fit."""
    asked = estimator.engine
    if asked is None and is_partitioned(X):
        asked = _active_client()
    engine = as_engine(asked)
    link = getattr(engine, "dashboard", None)
    if estimator.verbose and link:
        print(f"mercer: dashboard at {link}", file=sys.stderr)
    try:
        yield engine
    finally:
        engine.progress = None
        if engine is not asked and hasattr(engine, "close"):
            engine.close()


def _active_client() -> Any:
    """Return the active Dask client of this process, or None."""
    distributed = import_module("distributed")
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _identity(estimator: Any, given: Given, model: Array | None) -> str:
    """Return what must be equal for a fit to go on from a checkpoint: parameters and rows.

    ``model`` holds the coefficients of a model that a fit starts from, or adds rows to.
    """
    params = estimator.get_params(deep=False)
    apart = ("engine", "checkpoint", "verbose", "random_state")
    kept = {k: v for k, v in params.items() if k not in apart}
    kept["seed"] = _basis_seed(estimator)
    rows = (given.X, given.y, given.weight, given.shard_labels, given.query)
    inputs = [input_identity(part) for part in rows]
    return fingerprint((type(estimator).__name__, kept, inputs, model))


def _is_list_of_files(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(p, (str, Path)) for p in X)


def stored_engine(engine: Any) -> str | None:
    """Return an engine in a form that can be stored: the address of its scheduler, or None.

    >>> stored_engine("tcp://10.0.0.1:8786")
    'tcp://10.0.0.1:8786'
    """
    if engine is None or isinstance(engine, str):
        return engine
    client = getattr(engine, "client", engine)
    address = getattr(getattr(client, "scheduler", None), "address", None)
    return None if address is None else str(address)
