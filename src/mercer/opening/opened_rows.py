"""Open the rows of a fit: in one place, or in shards on an engine.

What was passed -> input -> placed rows -> targets -> rows with labels, weights and numbers
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from mercer.columns import TableEncoder
from mercer.columns.looking import Look, look_at
from mercer.combine import Combination
from mercer.contracts import (
    Array,
    Engine,
    Progress,
    RandomState,
    RowSource,
    TargetKind,
    Targets,
)
from mercer.engines import as_engine
from mercer.engines.journal import Journal
from mercer.opening.encoding import (
    check_unlabelled,
    with_known_columns,
    with_labels_only,
    with_learned_columns,
)
from mercer.opening.fit_input import FitInput
from mercer.opening.inputs import (
    Features,
    InputOptions,
    Known,
    features_of,
    is_list_of_files,
    read_rows,
)
from mercer.opening.weighing import with_class_weight, with_weight_type
from mercer.request import Seeds
from mercer.rows import ArraySource, open_rows
from mercer.rows.column_selection import check_same_columns
from mercer.rows.dask_partitions import is_partitioned, partitions
from mercer.rows.file_source import FileSource
from mercer.rows.labels import with_number_labels
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard, cut, cut_by_label
from mercer.rows.steps import shard_with_weight, with_weight
from mercer.rows.table import Table
from mercer.storage import fingerprint, input_identity
from mercer.validation import NoRowsError, check_finite, check_total_weight, listed, warn

#: Rows of y read at a time.
ROWS = 100_000


@dataclass(frozen=True, kw_only=True)
class RowOptions(InputOptions):
    """How the rows of a fit are read, weighed and cut into shards."""

    encoder: TableEncoder | None  # None takes columns as they are
    weight_type: str
    class_weight: str | Mapping[Any, float] | None
    shards: int | None
    shuffle: bool
    engine: object
    checkpoint: Path | None
    combination: Combination
    random_state: RandomState
    basis_seed: int | None  # a basis may have a seed of its own
    memory_limit: int | float | str
    verbose: int
    identity: Mapping[str, object]  # the parameters that must be equal to go on from a checkpoint


@dataclass(frozen=True)
class OpenedRows:
    """The rows of a fit, and all that was learned when they were opened."""

    rows: RowSet
    targets: Targets
    features: Features
    seeds: Seeds
    memory_limit: int | float | str
    encoder: TableEncoder | None = None  # what became of the columns
    unlabelled: bool = False  # whether some rows are known to be unlabelled
    present: Array | None = None  # see RowInput
    alpha_ratio: float = 1.0  # see with_weight_type


def is_sharded(options: RowOptions, given: FitInput) -> bool:
    """Return whether a fit is over shards."""
    wanted = (options.shards, options.engine, options.checkpoint, given.shard_labels)
    parted = is_partitioned(given.X) or is_list_of_files(given.X)
    return parted or (not given.in_one_place and any(value is not None for value in wanted))


@contextmanager
def opened_rows(
    options: RowOptions,
    kind: TargetKind,
    given: FitInput,
    known: Known | None = None,
    *,
    start: Array | None = None,
    seeds: Seeds | None = None,
    progress: Progress | None = None,
) -> Iterator[OpenedRows]:
    """Yield the rows of a fit, in one place or over shards; close the engine afterwards.

    Parameters
    ----------
    options : RowOptions
        How rows are read.
    kind : TargetKind
        Makes the targets.
    given : FitInput
        What the user passed.
    known : Known or None
        A fitted model, whose columns and targets the rows have.
    start : array or None
        Coefficients of the model that the fit starts from, or that it adds rows to.
    seeds : Seeds or None
        Those of the previous fit over shards, to go on from it.
    progress : Progress or None
        Called to report progress.
    """
    opening = Opening(options, kind, given, known)
    if not is_sharded(options, given):
        yield opening.as_numbers(opening.in_one_place(progress))
        return
    if options.pairwise:
        raise ValueError("a precomputed kernel cannot be sharded: pass rows and another kernel")
    with _open_engine(options, given.X) as engine:
        if progress is not None:
            engine.progress = lambda label, done, total: progress(label, done, total, "shards")
        drawn = Seeds.of(options.random_state, options.basis_seed)
        seeds = drawn if seeds is None else seeds
        if options.checkpoint is not None:
            identity, folder = _identity(options, given, drawn, start), options.checkpoint
            if start is not None:  # it has left its own results in the folder
                folder = folder / f"{'from' if known is None else 'rows'}-{identity[:16]}"
            journal = Journal(engine, folder, seeds.seed, identity)
            engine, seeds = journal, replace(seeds, seed=journal.seed)
        yield opening.as_numbers(opening.over_shards(engine, seeds))


@dataclass(frozen=True)
class Opening:
    """What was passed, how it is read, and the model whose rows these are, if there is one."""

    options: RowOptions
    kind: TargetKind
    given: FitInput
    known: Known | None

    def in_one_place(self, progress: Progress | None) -> OpenedRows:
        """Read the rows as one shard, and compute the targets from them."""
        options, kind, known = self.options, self.kind, self.known
        found = read_rows(self.given, options, kind, known)
        source = with_weight(found.source) if self._may_have_weights else found.source
        if found.source.n_rows and not source.n_rows:
            check_total_weight(0.0)
        targets = kind.of_source(source) if known is None else known.targets
        rows = RowSet.in_one_place(source, progress, self._needed_look)
        return OpenedRows(
            rows,
            targets,
            found.features,
            Seeds.of(options.random_state, options.basis_seed),
            options.memory_limit,
            unlabelled=found.unlabelled,
            present=found.present,
        )

    def over_shards(self, engine: Engine, seeds: Seeds) -> OpenedRows:
        """Split the rows, inspect each shard, and compute the targets from all shards."""
        options, kind, known = self.options, self.kind, self.known
        shards, array, unlabelled = self._cut(engine, seeds)
        first_task = shard_with_weight if array is None and self._may_have_weights else None
        rows = RowSet.over_shards(engine, shards, kind.summarize, self._needed_look, first_task)
        if not rows.has_target:
            raise ValueError(
                "fit needs targets: use fit(path, 'name of the target column') or fit(X, y)"
            )
        features = features_of(rows, options, known)
        summaries = [fact.targets for fact in rows.facts]
        targets = None if known is None else known.targets
        if array is None:
            targets = targets or kind.pooled(summaries)
        else:
            targets = targets or kind.of_source(array)
            self._check_array(array, targets)
        kind.check_shards(summaries, options.combination.keeps_queries_whole)
        memory_limit = options.memory_limit
        if isinstance(memory_limit, str) and memory_limit == "auto":
            memory_limit = getattr(engine, "task_memory", None) or "auto"
        return OpenedRows(rows, targets, features, seeds, memory_limit, unlabelled=unlabelled)

    def as_numbers(self, opened: OpenedRows) -> OpenedRows:
        """Return rows with labels, encoded columns and their weights, wherever they are."""
        options, known, rows, targets = self.options, self.known, opened.rows, opened.targets
        if options.pairwise and targets.pairs is not None:
            raise ValueError(
                "a precomputed kernel cannot be sorted by query: pass rows and another kernel"
            )
        if options.unlabelled == "drop" and not self.given.expects_unlabelled:
            rows = with_labels_only(rows)
        elif options.unlabelled == "require" and known is None:
            check_unlabelled(rows)
        rows = with_class_weight(rows, targets, options.class_weight)
        if known is None:
            rows, encoder = with_learned_columns(rows, options.encoder, targets)
        else:
            rows, encoder = with_known_columns(rows, known), known.encoder
        rows, ratio = with_weight_type(rows, options.weight_type)
        return replace(opened, rows=rows, encoder=encoder, alpha_ratio=ratio)

    def _cut(self, engine: Engine, seeds: Seeds) -> tuple[Sequence[Any], ArraySource | None, bool]:
        """Return shards, their source if it is an array, and whether labels are missing."""
        options, given, X, labels = self.options, self.given, self.given.X, self.given.shard_labels
        if is_partitioned(X):
            _refuse("the shards of a Dask collection are its partitions", options.shards, labels)
            raw = options.tables
            return partitions(X, given.y, given.weight, given.query, raw=raw), None, False
        if is_list_of_files(X):
            _refuse("the shards of a list of files are the files", options.shards, labels)
            return self._files(X), None, False
        if isinstance(X, (str, Path)):
            given = FitInput(Path(X).absolute(), given.y, given.weight, given.query)
        found = read_rows(given, options, self.kind, self.known)
        source = found.source
        array = source if isinstance(source, ArraySource) else None
        if labels is not None:
            if array is None:
                raise ValueError("shard_labels are for arrays: pass files as a list instead")
            _refuse("shard_labels already define the shards", options.shards, None)
            labels = np.asarray(labels)
            rows = X.n_rows if isinstance(X, RowSource) else _num_samples(X)
            if found.present is not None and labels.shape == (rows,):
                labels = labels[found.present]  # like the rows themselves
            return cut_by_label(array, labels), array, found.unlabelled
        shards = options.shards
        if shards is None and isinstance(source, FileSource):
            shards = max(1, len(np.unique(source._boundaries())) - 1)
        if shards is None and options.combination.depends_on_shards:
            raise ValueError(
                f"combine={options.owner.combine!r} depends on the number of shards: set shards="
            )
        rng = seeds.cut() if options.shuffle else None
        return cut(source, shards or 2 * engine.width, rng), array, found.unlabelled

    def _files(self, paths: Sequence[str | Path]) -> list[Shard]:
        """Return the files of a list as shards."""
        target = _column_name(self.given.y, "y")
        weight = _column_name(self.given.weight, "sample_weight")
        query = _column_name(self.given.query, "qid")
        raw, classes = self.options.tables, self.kind.classes

        def open_one(path: Path, columns: list[str] | None = None) -> RowSource:
            source = open_rows(path, target, weight, columns, query, raw=raw)
            return source if classes else with_number_labels(source)

        sources: list[tuple[Path, RowSource]] = []
        for path in paths:
            file = Path(path).absolute()  # workers may run in another folder
            try:
                sources.append((file, open_one(file)))
            except NoRowsError:  # such a file is left out, as in a folder
                continue
        if not sources:
            raise ValueError(
                "at least one file of a list must contain rows, got none in any of them"
            )
        times = Counter(path.resolve() for path, _ in sources)
        if twice := [str(path) for path, count in times.items() if count > 1]:
            warn(
                f"X lists files more than once, whose rows count as often: {listed(twice)}. Remove "
                f"them from the list unless that is meant"
            )
        check_same_columns({str(path): source.feature_names or [] for path, source in sources})
        names = sources[0][1].feature_names
        return [
            Shard(
                number,
                f"shard {number} ({path})",
                source if source.feature_names == names else open_one(path, names),
            )
            for number, (path, source) in enumerate(sources)
        ]

    def _check_array(self, array: ArraySource, targets: Targets) -> None:
        """Check an array before its rows are dealt: errors have the row numbers of the user."""
        start, gaps = 0, self.options.tables and self.options.missing == "fill"
        for block in array.blocks(ROWS):
            if not isinstance(block.X, Table):
                X = block.X
                if gaps and not hasattr(X, "tocsr"):  # gaps are filled later
                    X = np.nan_to_num(X, posinf=np.inf, neginf=-np.inf)
                check_finite(X, start=start, names=array.feature_names)
            assert block.y is not None
            targets.encode(block.y, start)
            start += block.n_rows

    @property
    def _needed_look(self) -> Callable[[RowSource], Look] | None:
        """The first look at rows; None where they are taken as they are, without a pass."""
        return look_at if self.options.tables or self.options.unlabelled != "use" else None

    @property
    def _may_have_weights(self) -> bool:
        """Whether rows may have weights; those of a source are not given apart."""
        return self.given.weight is not None or isinstance(self.given.X, RowSource)


def _column_name(value: object, name: str) -> str | None:
    """Return the name of a column, or None; arrays beside files are refused."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(
        f"{name} must be the name of a column if X is a list of files, got {type(value).__name__}"
    )


def _refuse(why: str, shards: object, labels: object) -> None:
    if shards is not None or labels is not None:
        raise ValueError(f"{why}: omit shards= and shard_labels=")


@contextmanager
def _open_engine(options: RowOptions, X: object) -> Iterator[Engine]:
    """Yield the engine; close the connection if it was opened for this fit."""
    given = options.engine
    if given is None and is_partitioned(X):
        given = _active_client()
    engine = as_engine(given)
    link = getattr(engine, "dashboard", None)
    if options.verbose and link:
        print(f"mercer: dashboard at {link}", file=sys.stderr)
    try:
        yield engine
    finally:
        engine.progress = None
        if engine is not given and hasattr(engine, "close"):
            engine.close()


def _active_client() -> Any:
    """Return the active Dask client of this process, or None."""
    distributed = import_module("distributed")
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _identity(options: RowOptions, given: FitInput, seeds: Seeds, start: Array | None) -> str:
    """Return what must be equal for a fit to go on from a checkpoint: parameters and rows."""
    kept = {**options.identity, "seed": seeds.functions}
    rows = (given.X, given.y, given.weight, given.shard_labels, given.query)
    inputs = [input_identity(part) for part in rows]
    return fingerprint((options.name, kept, inputs, start))


def stored_engine(engine: object) -> str | None:
    """Return an engine in a form that can be stored: the address of its scheduler, or None.

    >>> stored_engine("tcp://10.0.0.1:8786")
    'tcp://10.0.0.1:8786'
    """
    if engine is None or isinstance(engine, str):
        return engine
    client = getattr(engine, "client", engine)
    address = getattr(getattr(client, "scheduler", None), "address", None)
    return None if address is None else str(address)
