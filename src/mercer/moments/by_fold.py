"""Which fold a row is in, and moments in total or by fold, from one pass over the shards.

.. math:: S^{(k)} = \\sum_j \\sum_{i \\in D_j,\\, \\mathrm{fold}(i) = k} w_i h(x_i) h(x_i)'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import vstack

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, RowBlock, Targets
from mercer.engines import Lanes, count_numbers
from mercer.moments.accumulate import MomentSums, Workspace
from mercer.moments.moments import Moments
from mercer.moments.queries import PartialMoments, QuerySums
from mercer.rows.labels import checked_blocks
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling import Deal, fold_labels
from mercer.validation import check_total_weight

#: The fold of a block, its columns (X, Y, weight, and queries if any), and its rows.
Piece = tuple[int, tuple[Any, ...], int]


@dataclass(frozen=True)
class Pass:
    """What is read in a pass over rows, and how."""

    rows: RowSet
    targets: Targets
    reading: Reading


def sum_moments(
    rows: RowSet,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    seed: int,
    *,
    with_gram: bool = True,
    record: str = "moments",
) -> list[Moments]:
    """Return the moments of all rows, one per fold; ``seed`` deals rows to folds."""
    sums = rows.sum(
        moments_of if rows.one_place else triangles_of,
        add_folds,
        targets,
        share_functions(rows, basis),
        rows.reading(reading),
        Deal(seed, rows.slices),
        with_gram,
        label=record,
        record=record,
    )
    if rows.one_place:
        found = [part.moments if isinstance(part, PartialMoments) else part for part in sums]
    else:
        found = [part.whole() for part in sums]
    check_total_weight(sum(part.weight for part in found))
    return found


def row_sums(
    targets: Targets,
    basis: BasisTransformer,
    workspace: Workspace,
    with_gram: bool = True,
    keep: bool = False,
) -> MomentSums:
    """Return sums over no rows yet; in a ranking, over rows that are centered by query."""
    if targets.pairs is None:
        return MomentSums(basis, targets.outputs, workspace, with_gram, keep)
    return QuerySums(basis, targets.outputs, targets.pairs, workspace, with_gram, keep)


def moments_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    deal: Deal | None = None,
    with_gram: bool = True,
) -> list[Moments] | list[PartialMoments]:
    """Task: return the moments of a shard, by fold if rows are dealt."""
    with shard.naming():
        pieces = pieces_of(shard, targets, reading, deal)

        def make() -> list[MomentSums]:
            workspace = Workspace(basis.size, basis.precision_)
            return [row_sums(targets, basis, workspace, with_gram) for _ in range(reading.folds)]

        done = 0

        def report(piece: Piece) -> None:
            nonlocal done
            done += piece[2]
            shard.report("moments", done)

        lanes = Lanes(make, reading.lanes).run(
            pieces, lambda sums, piece: sums[piece[0]].add(*piece[1]), report
        )
        for lane in lanes[1:]:
            for total, part in zip(lanes[0], lane, strict=True):
                total.absorb(part)
        return [sums.part() for sums in lanes[0]]


def triangles_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    deal: Deal | None = None,
    with_gram: bool = True,
) -> list[Moments] | list[PartialMoments]:
    """Task: return the moments of a shard, by fold, as they are sent."""
    parts: list[Any] = list(moments_of(shard, targets, basis, reading, deal, with_gram))
    for fold, part in enumerate(parts):
        parts[fold] = part.packed()  # one by one: the matrix of a fold is released
    return parts


def pieces_of(
    shard: Shard, targets: Targets, reading: Reading, deal: Deal | None
) -> Iterator[Piece]:
    """Yield blocks of rows, each belonging to one fold.

    Small parts of blocks are put together, because every block costs M^2 memory accesses.
    """
    waiting: list[list[tuple[Any, ...]]] = [[] for _ in range(reading.folds)]
    for block, Y, labels in dealt_blocks(shard, targets, reading, deal):
        columns: tuple[Any, ...] = (block.X, Y, block.weight)
        if targets.pairs is not None:
            columns = (*columns, targets.codes(block))
        if labels is None:
            yield 0, columns, block.n_rows
            continue
        for fold, parts in enumerate(waiting):
            at = np.flatnonzero(labels == fold)
            if len(at) or targets.pairs is None:
                parts.append(tuple(None if column is None else column[at] for column in columns))
            rows = sum(len(part[1]) for part in parts)
            if parts and (not reading.few_left_out or 2 * rows >= reading.block_rows):
                yield fold, _joined(parts), rows
                parts.clear()
    for fold, parts in enumerate(waiting):
        if parts:
            yield fold, _joined(parts), sum(len(part[1]) for part in parts)


def _joined(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the columns of several parts, one below the other."""
    if len(parts) == 1:
        return parts[0]
    joined: list[Any] = []
    for column in zip(*parts, strict=True):
        if column[0] is None:
            joined.append(None)
        elif hasattr(column[0], "toarray"):
            joined.append(vstack(column, format="csr"))
        else:
            joined.append(np.concatenate(column))
    return tuple(joined)


def dealt_blocks(
    shard: Shard, targets: Targets, reading: Reading, deal: Deal | None
) -> Iterator[tuple[RowBlock, Array, Array | None]]:
    """Yield blocks of rows with their encoded targets and their folds; None if there is only one.

    The folds are the same in every pass with the same seed. In ranking, whole queries are assigned
    to folds, using the seed of the targets, so that all parts of a query are in the same fold.
    """
    folds = reading.folds
    dealt = None
    if targets.pairs is not None and folds > 1:
        dealt = folds_of_queries(targets, folds, reading.held_out)
    elif folds > 1:
        assert deal is not None
        fold_of = deal.to_folds(shard, folds, reading.held_out)
    # With equal folds, read enough rows to fill one block per fold, so that blocks stay large.
    rows = reading.block_rows * (1 if reading.few_left_out else folds)
    for block, Y in checked_blocks(shard.source, targets, rows, partial=True):
        labels: Array | None = None
        if dealt is not None:
            labels = dealt[targets.codes(block)]
        elif folds > 1:
            labels = fold_of(block.start, block.n_rows)
        yield block, Y, labels


def folds_of_queries(targets: Targets, folds: int, held_out: float | None) -> Array:
    """Return the fold of each query, the same in all shards."""
    rng = np.random.default_rng(targets.seed)
    return fold_labels(len(targets.pairs.weight), folds, rng, held_out)


def add_folds(left: list[Any], right: list[Any]) -> list[Any]:
    """Add moments fold by fold."""
    return [a + b for a, b in zip(left, right, strict=True)]


def share_functions(rows: RowSet, basis: BasisTransformer, whitened: bool = False) -> Any:
    """Return a basis as tasks take it, sent once to each shard.

    Shards that only sum values need no whitener; ``whitened`` is for shards that solve.
    """
    functions = basis if rows.one_place else basis.sent(whitened)
    return rows.share(functions, "basis", numbers_of(functions))


def share_coordinates(rows: RowSet, basis: BasisTransformer) -> tuple[Any, BasisTransformer]:
    """Return a basis as tasks take it, and as the driver does: with the same whitener, to the bit.

    Shards exchange vectors in whitened coordinates. A worker whose processor or libraries round
    differently would have others, so it says what it got, and then the whitener is sent.
    """
    functions = basis if rows.one_place else basis.sent(whitened=True)
    shared = rows.share(functions, "basis", numbers_of(functions))
    if functions is not basis:
        found = rows.map(digest_of, shared, record="checksums", light=True)
        if set(found) != {functions.digest()}:
            return rows.share(basis, "basis", numbers_of(basis)), basis
    return shared, functions


def digest_of(shard: Shard, basis: BasisTransformer) -> int:
    """Task: return the checksum of the functions that a shard got."""
    return basis.digest()


def numbers_of(basis: BasisTransformer) -> int:
    """Return how many numbers are needed to send a basis."""
    state: dict[str, Any] = basis.__getstate__()  # type: ignore[assignment]
    return sum(count_numbers(value) for name, value in state.items() if name != "_n_read")


#: Rows whose queries are read at a time.
ROWS = 65_536


@dataclass(frozen=True)
class DealtFolds:
    """Folds to leave out: how the rows of a shard are dealt, and which folds.

    With ``alone`` every row is a fold. ``shards`` are the folds of whole shards, by their number;
    without them rows are dealt.
    """

    folds: int
    held_out: float | None
    deal: Deal
    numbers: Array  # (l,) the folds that are left out
    shards: dict[int, int] | None = None
    alone: bool = False

    def places(self, shard: Shard, targets: Targets, rows: int | None = None) -> Array:
        """Return for each row of a shard its place among ``numbers``, -1 if it always stays."""
        rows = shard.source.n_rows if rows is None else rows
        known = self._known(shard, 0, rows)
        if known is not None:
            return known
        if targets.pairs is not None:  # whole queries are dealt, so their names are needed
            found = [places for *_, places in self.blocks(shard, targets, ROWS)]
            return np.concatenate(found)
        fold_of = self.deal.to_folds(shard, self.folds, self.held_out)
        return np.asarray(self._place[fold_of(0, rows)])

    def of_queries(self, targets: Targets) -> Array:
        """Return for each query its place among ``numbers``."""
        return np.asarray(self._place[folds_of_queries(targets, self.folds, self.held_out)])

    def blocks(
        self, shard: Shard, targets: Targets, block_rows: int
    ) -> Iterator[tuple[RowBlock, Array, Array]]:
        """Yield blocks with their encoded targets and the places of their rows."""
        whole = self.shards is not None or self.alone
        folds = 1 if whole else self.folds
        reading = Reading(block_rows, 1, folds, self.held_out)
        for block, Y, labels in dealt_blocks(shard, targets, reading, self.deal):
            places = self._known(shard, block.start, block.n_rows)
            if places is None:
                assert labels is not None
                places = self._place[labels]
            yield block, Y, places

    def _known(self, shard: Shard, start: int, rows: int) -> Array | None:
        """Return the places of rows that are not dealt."""
        if self.alone:
            return np.asarray(shard.row_numbers(self.deal.places)[start : start + rows])
        if self.shards is not None:
            return np.full(rows, self._place[self.shards[shard.number]])
        return None

    @property
    def _place(self) -> Array:
        place = np.full(self.folds, -1, dtype=np.int16)
        place[self.numbers] = np.arange(len(self.numbers))
        return place
